import { describe, expect, it } from 'vitest';
import { parseDuration, type Duration } from './duration.js';

const parse = (value: unknown, path = ''): number => parseDuration(value, path);

describe('a duration', () => {
  it.each([
    ['250ms', 250],
    ['0.5s', 500],
    ['1.5s', 1_500],
    ['2m', 120_000],
    ['1.5h', 5_400_000],
    ['1d', 86_400_000],
    ['1w', 604_800_000],
    ['0ms', 0],
    ['007s', 7_000],
    ['30d', 2_592_000_000],
  ])('of %s is %d ms', (text, milliseconds) => {
    expect(parse(text)).toBe(milliseconds);
  });

  it.each([
    ['1.4ms', 1],
    ['1.5ms', 2],
    ['0.0004s', 0],
    ['1.0015s', 1_002],
  ])('given as the text %s is rounded to whole milliseconds', (text, milliseconds) => {
    expect(parse(text)).toBe(milliseconds);
  });

  it.each([0, 0.5, 1, 1.25, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE])(
    'given as the number %d is not changed',
    (milliseconds) => {
      expect(parse(milliseconds)).toBe(milliseconds);
    },
  );
});

describe('what is no duration', () => {
  it.each([-1, -0.001, NaN, Infinity, -Infinity])('refuses the number %d', (value) => {
    expect(() => parse(value)).toThrow(TypeError);
    expect(() => parse(value)).toThrow(`Invalid duration ${value}: expected a non-negative number of milliseconds`);
  });

  it.each([
    '-1s',
    '1S',
    ' 1s',
    '1s ',
    '1 s',
    '1s\n',
    '1sec',
    's',
    '',
    '1y',
    '5 seconds',
    '500',
    '.5s',
    '1.s',
    '1e3ms',
    '1_000ms',
    '+1s',
    '1.5.5s',
    '١s',
    '1m30s',
    'Infinitys',
    'NaNms',
    `${'9'.repeat(400)}w`,
  ])('refuses the text %j, quotes it and gives examples', (text) => {
    expect(() => parse(text)).toThrow(TypeError);
    expect(() => parse(text)).toThrow(`Invalid duration ${JSON.stringify(text)}`);
    expect(() => parse(text)).toThrow(/'250ms', '1\.5s'/);
  });

  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [10n, '10n'],
    [{}, 'an object'],
    [['1s'], 'an array'],
    [new Date(0), 'an object'],
  ])('refuses %s', (value, shown) => {
    expect(() => parse(value)).toThrow(TypeError);
    expect(() => parse(value)).toThrow(`Invalid duration ${shown}`);
  });

  it('has one text for numbers and another for strings', () => {
    const complaint = (value: unknown): string => {
      try {
        return String(parse(value));
      } catch (error) {
        return (error as Error).message.replace(/^Invalid duration [^:]+/, '');
      }
    };

    expect(complaint(-1)).toBe(complaint(Infinity));
    expect(complaint('1y')).toBe(complaint('1sec'));
    expect(complaint(-1)).not.toBe(complaint('1y'));
  });

  it.each(['500', '1.5'])('says what to write instead of the bare number %j', (text) => {
    expect(() => parse(text)).toThrow(`Write ${text} or '${text}ms' for milliseconds.`);
  });

  it.each([NaN, undefined, 'undefinedms', 'NaNms', 'undefined', ''])('asks where %j comes from', (value) => {
    expect(() => parse(value)).toThrow(/ Does it come from an environment variable that is not set\?$/);
  });

  it.each([-1, null, '1y', '500', 'soon'])('does not ask where %j comes from', (value) => {
    expect(() => parse(value)).not.toThrow(/environment/);
  });

  it('puts the path of the option in front, where there is one', () => {
    expect(() => parse('1y', 'backoff.delay')).toThrow(/^backoff\.delay: Invalid duration "1y"/);
    expect(() => parse('1y', '')).toThrow(/^Invalid duration "1y"/);
  });
});

describe('a duration that must be positive', () => {
  it.each([0, -0, '0ms', '0s', '0.4ms'])('refuses %j', (value) => {
    expect(() => parseDuration(value, 'interval', { positive: true })).toThrow(TypeError);
    expect(() => parseDuration(value, 'interval', { positive: true })).toThrow(/^interval: .*greater than 0/);
  });

  it.each([Number.MIN_VALUE, 0.4, 1, '1ms'])('takes %j', (value) => {
    expect(parseDuration(value, 'interval', { positive: true })).toBeGreaterThan(0);
  });
});

describe('a duration in whole milliseconds', () => {
  const whole = (value: unknown): number => parseDuration(value, 'ttl', { whole: true });

  it.each([
    [1_000 / 3, 334],
    [0.001, 1],
    [Number.MIN_VALUE, 1],
    [0, 0],
    [1, 1],
    [1.0000000000000002, 2],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])('given as the number %d is %d', (value, milliseconds) => {
    expect(whole(value)).toBe(milliseconds);
  });

  it.each([
    ['1.0004s', 1_001],
    ['1.4ms', 2],
    ['0.0004s', 1],
    ['0.000s', 0],
    ['1.000ms', 1],
    ['250ms', 250],
    ['30d', 2_592_000_000],
    [`1.${'0'.repeat(400)}1ms`, 2],
  ])('given as the text %s is %d', (text, milliseconds) => {
    expect(whole(text)).toBe(milliseconds);
  });

  it.each([
    ['1.1s', 1_100],
    ['2.2s', 2_200],
    ['4.35s', 4_350],
    ['1.001s', 1_001],
    ['0.07d', 6_048_000],
    ['1.005w', 607_824_000],
  ])('given as the text %s is %d, not one more because floating point numbers are inexact', (text, milliseconds) => {
    expect(whole(text)).toBe(milliseconds);
  });

  it.each([-0.5, NaN, Infinity, '1e3ms', '.5s', '1,5s', '', `${'9'.repeat(400)}w`])('refuses %j', (value) => {
    expect(() => whole(value)).toThrow(/^ttl: Invalid duration/);
  });

  it('is positive as soon as it is more than nothing', () => {
    expect(parseDuration('0.4ms', 'ttl', { positive: true, whole: true })).toBe(1);
    expect(() => parseDuration('0.0ms', 'ttl', { positive: true, whole: true })).toThrow(/greater than 0/);
  });
});

describe('the type of a duration', () => {
  it('takes numbers and texts with a unit', () => {
    const durations: Duration[] = [5, '5ms', '1.5s', '2m', '1h', '7d', '1w'];

    expect(durations.map((duration) => parse(duration))).toHaveLength(7);
  });

  it('does not take a text without a unit or with an unknown one', () => {
    // @ts-expect-error a bare number in quotes has no unit
    const bare: Duration = '500';
    // @ts-expect-error years are no unit
    const years: Duration = '1y';

    expect(() => parse(bare)).toThrow(TypeError);
    expect(() => parse(years)).toThrow(TypeError);
  });
});

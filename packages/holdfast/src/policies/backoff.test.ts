import { describe, expect, it, vi } from 'vitest';
import { createBackoff, exponentialDelay, resolveBackoff, type BackoffOptions } from './backoff.js';

const chance = (drawn: number) => (): number => drawn;
const ALMOST_ONE = 0.999_999;
const LARGEST_DRAW = 1 - 2 ** -53;

/** The wait after a failed attempt when chance draws `drawn`, from 0 inclusive to 1 exclusive. */
function wait(options: BackoffOptions, failedAttempt: number, drawn = ALMOST_ONE): number {
  return exponentialDelay(resolveBackoff(options), failedAttempt, chance(drawn));
}

describe('the wait between attempts', () => {
  it('is 200 ms by default, doubles, and is never above 30 s', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100].map((attempt) => wait({ jitter: 'none' }, attempt));

    expect(waits).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  });

  it('is delay times factor to the power of the attempts before', () => {
    const waits = [1, 2, 3].map((attempt) => wait({ delay: '100ms', factor: 3, jitter: 'none' }, attempt));

    expect(waits).toEqual([100, 300, 900]);
  });

  it('stays a fraction when the product is one and nothing is left to chance', () => {
    expect(wait({ delay: 5, factor: 1.5, jitter: 'none' }, 2)).toBe(7.5);
  });

  it('is the cap at once when the first delay is above it', () => {
    expect(wait({ delay: '1m', maxDelay: '1s', jitter: 'none' }, 1)).toBe(1_000);
  });

  it.each([
    { delay: 0, maxDelay: '30s' },
    { delay: '1s', maxDelay: 0 },
  ] as const)('may be nothing: %j', (options) => {
    for (const jitter of ['none', 'equal', 'full'] as const) {
      expect([1, 2, 50].map((attempt) => wait({ ...options, jitter }, attempt))).toEqual([0, 0, 0]);
    }
  });
});

describe('jitter', () => {
  const fixed = { delay: 1_000, factor: 2, maxDelay: 1_000 } as const;

  it('`full` draws whole milliseconds from 0 up to, not including, the wait', () => {
    expect(wait({ ...fixed, jitter: 'full' }, 1, 0)).toBe(0);
    expect(wait({ ...fixed, jitter: 'full' }, 1, 0.5)).toBe(500);
    expect(wait({ ...fixed, jitter: 'full' }, 1, 0.12345)).toBe(123);
    expect(wait({ ...fixed, jitter: 'full' }, 1)).toBe(999);
  });

  it('`equal` draws from half of the wait up to, not including, the wait', () => {
    expect(wait({ ...fixed, jitter: 'equal' }, 1, 0)).toBe(500);
    expect(wait({ ...fixed, jitter: 'equal' }, 1, 0.5)).toBe(750);
    expect(wait({ ...fixed, jitter: 'equal' }, 1)).toBe(999);
  });

  it('`none` draws nothing', () => {
    expect(wait({ ...fixed, jitter: 'none' }, 1, 0)).toBe(1_000);
    expect(wait({ ...fixed, jitter: 'none' }, 1)).toBe(1_000);
  });

  it('is applied after the cap, so that a capped wait is still spread', () => {
    expect(wait({ delay: 1_000, maxDelay: 1_000, jitter: 'full' }, 20)).toBe(999);
    expect(wait({ delay: 1_000, maxDelay: 1_000, jitter: 'full' }, 20, 0.25)).toBe(250);
  });

  it('is full by default, and none when the waits do not grow', () => {
    expect(resolveBackoff({}).jitter).toBe('full');
    expect(resolveBackoff({ factor: 1.01 }).jitter).toBe('full');
    expect(resolveBackoff({ factor: 1 }).jitter).toBe('none');
  });

  it('is what was asked for even when the waits do not grow', () => {
    expect(resolveBackoff({ factor: 1, jitter: 'full' }).jitter).toBe('full');
    expect(wait({ delay: 100, factor: 1, jitter: 'full' }, 3, 0.5)).toBe(50);
  });

  it('is drawn from Math.random, looked up when it is drawn', () => {
    const backoff = createBackoff({ delay: 100 });
    vi.spyOn(Math, 'random').mockReturnValue(0.75);

    expect(backoff.delayMs(1, undefined)).toBe(75);
    expect(backoff.delayMs(2, undefined)).toBe(150);
  });
});

describe('however many attempts have failed, the wait is finite, at least 0 and at most maxDelay', () => {
  const schedules = (['full', 'equal', 'none'] as const).flatMap((jitter) =>
    [1, 1.0001, 2, 10, 1e300].flatMap((factor) =>
      [0, 0.5, 1, 200, 1e300].flatMap((delay) =>
        [0, 1, 30_000, Number.MAX_VALUE].map((maxDelay) => ({ jitter, factor, delay, maxDelay })),
      ),
    ),
  );
  const attempts = [...Array.from({ length: 5_000 }, (_, index) => index + 1), 10_000, 1_000_000, Infinity];

  it.each([0, 0.5, LARGEST_DRAW])('when chance draws %d', (drawn) => {
    const wrong: unknown[] = [];
    for (const schedule of schedules) {
      const backoff = resolveBackoff(schedule);
      for (const attempt of attempts) {
        const ms = exponentialDelay(backoff, attempt, chance(drawn));
        if (!(ms >= 0 && ms <= schedule.maxDelay && ms < Infinity)) wrong.push({ ...schedule, attempt, ms });
      }
    }

    expect(wrong).toEqual([]);
  });

  it('and exactly maxDelay once it is reached, after 400 steps of factor 10', () => {
    expect(wait({ delay: 1, factor: 10, maxDelay: '30s', jitter: 'none' }, 400)).toBe(30_000);
    expect(wait({ delay: 1, factor: 10, maxDelay: '30s', jitter: 'none' }, 1_025)).toBe(30_000);
  });

  it('and still spread over the whole of the capped wait', () => {
    expect(wait({ delay: 1, factor: 10, maxDelay: 1_000, jitter: 'full' }, 5_000, 0.5)).toBe(500);
    expect(wait({ delay: 1, factor: 10, maxDelay: 1_000, jitter: 'equal' }, Infinity, 0.5)).toBe(750);
  });
});

describe('the options of a backoff', () => {
  it.each([
    [{ delay: '1 s' }, /^delay: Invalid duration "1 s"/],
    [{ delay: -1 }, /^delay: Invalid duration -1/],
    [{ delay: NaN }, /^delay: Invalid duration NaN/],
    [{ delay: null }, /^delay: Invalid duration null/],
    [{ maxDelay: Infinity }, /^maxDelay: Invalid duration Infinity/],
    [{ maxDelay: 'forever' }, /^maxDelay: Invalid duration "forever"/],
    [{ factor: 0.5 }, /^factor: expected a finite number of at least 1, got 0\.5/],
    [{ factor: Infinity }, /^factor: .* got Infinity/],
    [{ factor: NaN }, /^factor: .* got NaN/],
    [{ factor: '2' }, /^factor: .* got "2"/],
    [{ factor: null }, /^factor: .* got null/],
    [{ jitter: 'decorrelated' }, /^jitter: expected one of 'full', 'equal', 'none', got "decorrelated"/],
    [{ jitter: false }, /^jitter: .* got false/],
    [{ maxdelay: '1s' }, /^maxdelay: unknown option\. Did you mean "maxDelay"\?/],
    ['1s', /expected an options object, got a string/],
    [[], /expected an options object, got an array/],
  ])('%j are refused', (options, message) => {
    expect(() => createBackoff(options as BackoffOptions)).toThrow(TypeError);
    expect(() => createBackoff(options as BackoffOptions)).toThrow(message);
  });

  it('are read once and not written to', () => {
    const options = { delay: 100, factor: 1 };
    const backoff = createBackoff(Object.freeze({ ...options }));
    const changed = createBackoff(options);
    options.delay = 999;

    expect(backoff.delayMs(1, undefined)).toBe(100);
    expect(changed.delayMs(1, undefined)).toBe(100);
    expect(options).toEqual({ delay: 999, factor: 1 });
  });
});

describe('a backoff function', () => {
  it('is given the failed attempt and its error', () => {
    const delay = vi.fn(() => 5);
    const error = new Error('down');
    createBackoff(delay).delayMs(2, error);

    expect(delay.mock.calls).toEqual([[2, error]]);
  });

  it.each([
    ['1.5s', 1_500],
    [250, 250],
    [0.5, 0.5],
    [0, 0],
    ['0ms', 0],
    ['1d', 86_400_000],
  ] as const)('may return %j, which is neither capped nor jittered', (returned, milliseconds) => {
    expect(createBackoff(() => returned).delayMs(1, undefined)).toBe(milliseconds);
  });

  it.each([-1, -0.5, -1e9])('means no wait with a negative number, as %d', (returned) => {
    expect(createBackoff(() => returned).delayMs(1, undefined)).toBe(0);
  });

  it.each([
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [-Infinity, '-Infinity'],
    [undefined, 'undefined'],
    [null, 'null'],
    ['-1s', '"-1s"'],
    ['-5', '"-5"'],
    ['soon', '"soon"'],
    [[5], 'an array'],
  ])('may not return %s', (returned, shown) => {
    const backoff = createBackoff(() => returned as number);

    expect(() => backoff.delayMs(1, undefined)).toThrow(TypeError);
    expect(() => backoff.delayMs(1, undefined)).toThrow(`backoff: Invalid duration ${shown}`);
  });

  it('may not return a promise, whose rejection goes unheard', () => {
    const backoff = createBackoff(() => Promise.reject(new Error('nobody waits')) as unknown as number);

    expect(() => backoff.delayMs(1, undefined)).toThrow(TypeError);
    expect(() => backoff.delayMs(1, undefined)).toThrow(
      'backoff returned a Promise. Return a duration from it, without waiting.',
    );
  });

  it('that throws is heard with its own error', () => {
    const flaw = new RangeError('of the backoff');

    expect(() =>
      createBackoff(() => {
        throw flaw;
      }).delayMs(1, undefined),
    ).toThrow(flaw);
  });
});

import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { DEADLINE_HEADERS, deadlineHeaderValue, readDeadline, requireDeadlineHeader } from './deadline-headers.js';
import { Deadline } from './deadline.js';

useFakeClock();

const read = (name: string, value: string | readonly string[] | undefined): number | undefined =>
  readDeadline([name], () => value);

describe('a deadline in a header', () => {
  it.each([
    ['x-request-timeout-ms', '1', 1],
    ['x-request-timeout-ms', '3600000', 3_600_000],
    ['connect-timeout-ms', '250', 250],
    ['x-envoy-expected-rq-timeout-ms', '0250', 250],
    ['grpc-timeout', '250m', 250],
    ['grpc-timeout', '2S', 2_000],
    ['grpc-timeout', '1M', 60_000],
    ['grpc-timeout', '1H', 3_600_000],
    ['grpc-timeout', '99999999u', 99_999.999],
    ['grpc-timeout', '1000000n', 1],
  ])('is read: %s: %s', (name, value, milliseconds) => {
    expect(read(name, value)).toBeCloseTo(milliseconds, 9);
  });

  it.each([
    '0',
    '-1',
    '+5',
    '1.5',
    '1e9',
    '0x10',
    ' 5',
    '5 ',
    '5,5',
    '',
    'NaN',
    'Infinity',
    '3600001',
    '99999999',
    '5m',
    '٥',
    '５',
    '5\n',
    '5\u0000',
  ])('is ignored unless it is plain milliseconds, at most an hour: %j', (value) => {
    for (const name of DEADLINE_HEADERS.filter((header) => header !== 'grpc-timeout')) {
      expect(read(name, value)).toBeUndefined();
    }
  });

  it.each([
    '99999999H',
    '2H',
    '100',
    '1s',
    '1 m',
    ' 5m',
    '5m ',
    '123456789m',
    '0m',
    '-5m',
    '999999n',
    '1.5S',
    '٥m',
    'm',
  ])('is ignored unless it is in the form of gRPC, from 1 ms to an hour: %j', (value) => {
    expect(read('grpc-timeout', value)).toBeUndefined();
  });

  it('is ignored when it is there twice, or not at all', () => {
    expect(read('x-request-timeout-ms', ['5', '5'])).toBeUndefined();
    expect(read('x-request-timeout-ms', [])).toBeUndefined();
    expect(read('x-request-timeout-ms', undefined)).toBeUndefined();
    expect(read('x-request-timeout-ms', ['5'])).toBe(5);
  });

  it('is read from the headers that are named, and from no other', () => {
    const headers: Record<string, string> = { 'x-request-timeout-ms': '300', 'grpc-timeout': '200m' };
    const value = (name: string): string | undefined => headers[name];

    expect(readDeadline([], value)).toBeUndefined();
    expect(readDeadline(['x-request-timeout-ms'], value)).toBe(300);
    expect(readDeadline(['x-request-timeout-ms', 'grpc-timeout', 'connect-timeout-ms'], value)).toBe(200);
    expect(readDeadline(['connect-timeout-ms', 'grpc-timeout', 'x-request-timeout-ms'], value)).toBe(200);
  });

  it('is asked for in lower case, as node:http has it, however it was named', () => {
    const headers: Record<string, string> = { 'x-request-timeout-ms': '300' };

    expect(readDeadline(['X-Request-Timeout-Ms'], (name) => headers[name])).toBe(300);
  });

  it.each(['constructor', '__proto__', 'x-timeout'])('is not read from a header of no known form: %s', (name) => {
    expect(() => read(name, '5')).toThrow(TypeError);
    expect(() => read(name, '5')).toThrow(/^names: ".*" is no header that carries a deadline. Known: x-request/);
  });

  it('is refused with one name in place of a list, of which every letter would be a header', () => {
    expect(() => readDeadline('grpc-timeout' as never, () => '5m')).toThrow(
      'names: expected an array, got "grpc-timeout".',
    );
  });
});

describe('the value of an outgoing header', () => {
  it('is what is left, rounded up', async () => {
    const deadline = Deadline.after(250.4);
    expect(deadlineHeaderValue('x-request-timeout-ms', deadline)).toBe('251');
    await pass(100);

    expect(deadlineHeaderValue('X-Request-Timeout-Ms', deadline)).toBe('151');
    expect(deadlineHeaderValue('grpc-timeout', deadline)).toBe('151m');
  });

  it('is never 0, which would mean no limit to many, and never more than is believed', async () => {
    const deadline = Deadline.after(1);
    await pass(5);

    expect(deadlineHeaderValue('x-request-timeout-ms', deadline)).toBe('1');
    expect(deadlineHeaderValue('grpc-timeout', Deadline.after('7d'))).toBe('3600000m');
    expect(read('grpc-timeout', deadlineHeaderValue('grpc-timeout', Deadline.after('7d')))).toBe(3_600_000);
  });

  it('is asked for by the name of its header', () => {
    expect(() => deadlineHeaderValue('x-timeout', Deadline.after(5))).toThrow(
      'name: "x-timeout" is no header that carries a deadline. Known: x-request-timeout-ms, connect-timeout-ms, ' +
        'x-envoy-expected-rq-timeout-ms, grpc-timeout.',
    );
  });

  it.each(['x-timeout', '', 'constructor', 5, undefined, ['grpc-timeout']])('has no header %o', (name) => {
    expect(() => requireDeadlineHeader(name, 'deadlineHeaders[0]')).toThrow(
      /^deadlineHeaders\[0\]: .* is no header that carries a deadline\. Known: x-request-timeout-ms, /,
    );
  });
});

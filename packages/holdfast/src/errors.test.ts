import { describe, expect, it } from 'vitest';
import * as errors from './errors.js';
import {
  BulkheadFullError,
  CircuitOpenError,
  ClientDisconnectedError,
  DeadlineExceededError,
  isClientError,
  OutboundRateLimitError,
  RejectionError,
  ResilienceError,
  ResilienceTimeoutError,
  SiblingFailedError,
} from './errors.js';

const timeout = new ResilienceTimeoutError(1_500, 'carrier');
const open = new CircuitOpenError('carrier', 30_000);
const full = new BulkheadFullError('exports', 'full');
const queueTimeout = new BulkheadFullError('exports', 'queue-timeout');
const limited = new OutboundRateLimitError('partner', 750);
const late = new DeadlineExceededError(1_000, 'page');
const gone = new ClientDisconnectedError('Shop.page');
const sibling = new SiblingFailedError('product', 'page');

/** A line of a stack. */
const FRAME = /\n\s+at /;

describe('the errors of policies', () => {
  it.each([
    [timeout, 'ResilienceTimeoutError', 'TIMEOUT', 'Timed out after 1500ms'],
    [open, 'CircuitOpenError', 'CIRCUIT_OPEN', 'Circuit breaker "carrier" is open'],
    [full, 'BulkheadFullError', 'BULKHEAD_FULL', 'Bulkhead "exports" is full'],
    [queueTimeout, 'BulkheadFullError', 'BULKHEAD_FULL', 'Timed out waiting for a slot in bulkhead "exports"'],
    [limited, 'OutboundRateLimitError', 'RATE_LIMITED', 'Outbound rate limit "partner" exceeded'],
    [late, 'DeadlineExceededError', 'DEADLINE_EXCEEDED', 'Not answered within the budget of 1000ms'],
    [gone, 'ClientDisconnectedError', 'CLIENT_CLOSED_REQUEST', 'The client has disconnected'],
    [sibling, 'SiblingFailedError', 'SIBLING_FAILED', 'Section "product" failed'],
  ])('%s: name, code and message', (error, name, code, message) => {
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe(name);
    expect(error.code).toBe(code);
    expect(error.message).toBe(message);
    expect(String(error)).toBe(`${name}: ${message}`);
  });

  it('carry the name of the policy and the number that the caller needs', () => {
    expect([timeout, open, full, limited, late, gone, sibling].map(({ policy }) => policy)).toEqual([
      'carrier',
      'carrier',
      'exports',
      'partner',
      'page',
      'Shop.page',
      'page',
    ]);
    expect(late.budgetMs).toBe(1_000);
    expect(sibling.section).toBe('product');
    expect(timeout.timeoutMs).toBe(1_500);
    expect(open.retryAfterMs).toBe(30_000);
    expect(limited.retryAfterMs).toBe(750);
    expect([full.reason, queueTimeout.reason]).toEqual(['full', 'queue-timeout']);
    expect(full.retryAfterMs).toBeUndefined();
  });

  it('have one base, and refusals another one below it, to which what ran and lost does not belong', () => {
    for (const error of [open, full, queueTimeout, limited]) expect(error).toBeInstanceOf(RejectionError);
    for (const error of [timeout, late, gone, sibling]) expect(error).not.toBeInstanceOf(RejectionError);
    for (const error of [timeout, open, full, queueTimeout, limited, late, gone, sibling]) {
      expect(error).toBeInstanceOf(ResilienceError);
    }
  });

  it('are told apart by their classes', () => {
    const classes = [
      ResilienceTimeoutError,
      CircuitOpenError,
      BulkheadFullError,
      OutboundRateLimitError,
      DeadlineExceededError,
      ClientDisconnectedError,
      SiblingFailedError,
    ];
    const kinds = [timeout, open, full, limited, late, gone, sibling].map((error) =>
      classes.filter((kind) => error instanceof kind),
    );

    expect(kinds).toEqual(classes.map((kind) => [kind]));
  });

  it('keep their names when a bundler renames their classes', () => {
    expect(Object.hasOwn(ResilienceTimeoutError.prototype, 'name')).toBe(true);
    expect(Object.keys(timeout)).not.toContain('name');
  });

  it('capture no stack', () => {
    for (const error of [timeout, open, full, limited, late, gone, sibling]) {
      expect(error.stack ?? '').not.toMatch(FRAME);
    }
  });

  it('leave the depth of other stacks as it was', () => {
    const { stackTraceLimit } = Error as { stackTraceLimit?: number };
    new CircuitOpenError('carrier', 0);

    expect((Error as { stackTraceLimit?: number }).stackTraceLimit).toBe(stackTraceLimit);
    expect(new Error('with a stack').stack).toMatch(FRAME);
  });

  it('make no such depth where a runtime, or somebody, knows of none', () => {
    const own = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit') as PropertyDescriptor;
    Reflect.deleteProperty(Error, 'stackTraceLimit');
    new CircuitOpenError('carrier', 0);
    const made = 'stackTraceLimit' in Error;
    Object.defineProperty(Error, 'stackTraceLimit', own);

    expect(made).toBe(false);
  });
});

describe('recognising errors', () => {
  it('is not written as a static method, for which V8 leaves its fast path whenever an error is made', () => {
    const classes = Object.values(errors).filter(
      (value) => value instanceof Function && value.prototype instanceof Error,
    );
    const owned = classes.map((kind) => Object.getOwnPropertyDescriptor(kind, Symbol.hasInstance));

    expect(owned.length).toBeGreaterThanOrEqual(9);
    // A static method of a class can be written to; what is defined afterwards cannot.
    expect(owned.every((property) => property?.writable === false)).toBe(true);
  });

  it.each([undefined, null, 'TIMEOUT', 5, {}, new Error('Timed out after 5ms'), { code: 'TIMEOUT' }])(
    '%s is none of them',
    (value) => {
      expect(value instanceof ResilienceError).toBe(false);
      expect(value instanceof RejectionError).toBe(false);
      expect(value instanceof ResilienceTimeoutError).toBe(false);
    },
  );

  it('holds for classes that a user derives, without widening them', () => {
    class QuoteTimeout extends ResilienceTimeoutError {}
    class StockTimeout extends ResilienceTimeoutError {}
    const error = new QuoteTimeout(5, 'quotes');

    expect(error).toBeInstanceOf(QuoteTimeout);
    expect(error).toBeInstanceOf(ResilienceTimeoutError);
    expect(error).toBeInstanceOf(ResilienceError);
    expect(error).not.toBeInstanceOf(StockTimeout);
    expect(timeout).not.toBeInstanceOf(QuoteTimeout);
  });
});

const http = (status: number): object => ({ getStatus: () => status, getResponse: () => ({}) });
const rpc = (payload: unknown): object => ({ getError: () => payload });

describe('a client error', () => {
  it.each([302, 400, 404, 408, 422, 429, 499])('is an HTTP exception of %d', (status) => {
    expect(isClientError(http(status))).toBe(true);
  });

  it.each([500, 502, 503, 504, 599])('is not an HTTP exception of %d', (status) => {
    expect(isClientError(http(status))).toBe(false);
  });

  it('is read from an HTTP exception, whatever fields it has beside', () => {
    expect(isClientError({ ...http(503), status: 404 })).toBe(false);
    expect(isClientError({ ...http(404), status: 503 })).toBe(true);
  });

  it.each([400, 401, 404, 409, 422, 499])('is any error with the status %d, under both names', (status) => {
    expect(isClientError(Object.assign(new Error('pushed back'), { status }))).toBe(true);
    expect(isClientError({ statusCode: status })).toBe(true);
  });

  it.each([100, 200, 302, 399, 408, 429, 500, 503, NaN, Infinity])('is no error with the status %d', (status) => {
    expect(isClientError({ status })).toBe(false);
    expect(isClientError({ statusCode: status })).toBe(false);
  });

  it('is told by `status` when that is a number, else by `statusCode`', () => {
    expect(isClientError({ status: 500, statusCode: 400 })).toBe(false);
    expect(isClientError({ status: 400, statusCode: 500 })).toBe(true);
    expect(isClientError({ status: 'failed', statusCode: 404 })).toBe(true);
    expect(isClientError({ status: undefined, statusCode: 404 })).toBe(true);
  });

  it('is not told by texts', () => {
    expect(isClientError({ status: '404' })).toBe(false);
    expect(isClientError({ statusCode: '404' })).toBe(false);
    expect(isClientError({ message: 'Not Found', code: 404 })).toBe(false);
  });

  it.each([undefined, null, 404, 'Not Found', true, Symbol('404'), new Error('plain')])('is not %s', (value) => {
    expect(isClientError(value)).toBe(false);
  });

  it('is not one of our own errors', () => {
    for (const error of [timeout, open, full, limited, late, gone, sibling]) expect(isClientError(error)).toBe(false);
  });

  it('needs both functions to be an HTTP exception', () => {
    expect(isClientError({ getStatus: () => 404, status: 503 })).toBe(false);
    expect(isClientError({ getStatus: 404, getResponse: {}, status: 404 })).toBe(true);
  });
});

describe('a message or WebSocket exception', () => {
  it.each([
    { status: 404 },
    { statusCode: 422 },
    { status: 'error', statusCode: 400 },
    { code: 3 },
    { code: 5 },
    { code: 6 },
    { code: 7 },
    { code: 9 },
    { code: 11 },
    { code: 16 },
  ])('is a client error when its payload says so: %j', (payload) => {
    expect(isClientError(rpc(payload))).toBe(true);
  });

  it.each([
    { status: 503 },
    { statusCode: 408 },
    { status: 429 },
    { status: 'error', message: 'Internal server error' },
    { code: 4 },
    { code: 8 },
    { code: 13 },
    { code: 14 },
    { code: '5' },
    { code: 404 },
    'Not Found',
    undefined,
    null,
  ])('is a failure otherwise: %j', (payload) => {
    expect(isClientError(rpc(payload))).toBe(false);
  });

  it('is read by its payload only', () => {
    expect(isClientError({ ...rpc('no'), status: 404 })).toBe(false);
  });
});

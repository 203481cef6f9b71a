import { describe, expect, it } from 'vitest';
import {
  BulkheadFullError,
  CircuitOpenError,
  ClientDisconnectedError,
  DeadlineExceededError,
  OutboundRateLimitError,
  ResilienceTimeoutError,
  SectionFailedError,
} from '../errors.js';
import { timeLimitError } from '../time-limit-error.js';
import { reasonOf, type DegradedReason } from './degraded.js';

const timeout = new ResilienceTimeoutError(300, 'reviews');
const deadline = new DeadlineExceededError(1_000, 'page');
const hostile = new Proxy(new Error('hostile'), {
  get: () => {
    throw new Error('do not look');
  },
});

const REASONS = [
  'upstream_timeout',
  'budget_exhausted',
  'client_abort',
  'upstream_error',
  'circuit_open',
  'bulkhead_full',
  'rate_limited',
  'skipped',
] as const;

describe('why a section is missing', () => {
  it.each<[string, unknown, DegradedReason]>([
    ['a timeout', timeout, 'upstream_timeout'],
    ['a deadline', deadline, 'upstream_timeout'],
    ['the signal of a timeout', timeLimitError(timeout), 'upstream_timeout'],
    ['the signal of a deadline', timeLimitError(deadline), 'upstream_timeout'],
    ["the platform's timeout", new DOMException('timed out', 'TimeoutError'), 'upstream_timeout'],
    ["the platform's abort", new DOMException('aborted', 'AbortError'), 'client_abort'],
    ['a client that left', new ClientDisconnectedError('page'), 'client_abort'],
    ['an open breaker', new CircuitOpenError('reviews', 30_000), 'circuit_open'],
    ['a full bulkhead', new BulkheadFullError('reviews', 'full'), 'bulkhead_full'],
    ['a queue without an end', new BulkheadFullError('reviews', 'queue-timeout'), 'bulkhead_full'],
    ['a spent rate limit', new OutboundRateLimitError('reviews', 100), 'rate_limited'],
    [
      'an answer inside that failed',
      new SectionFailedError({ section: 'stock', reason: 'circuit_open', cause: undefined, status: 502 }, 'inner'),
      'circuit_open',
    ],
    ['an outcome with one of our reasons', { ok: false, reason: 'budget_exhausted' }, 'budget_exhausted'],
    ...REASONS.map((reason): [string, unknown, DegradedReason] => [`an error that says ${reason}`, { reason }, reason]),
    ['an error with a reason of its own', { reason: 'ECONNREFUSED 10.0.0.7' }, 'upstream_error'],
    ['an error with a list of our reasons', { reason: ['skipped'] }, 'upstream_error'],
    ['an error with the name of a method as reason', { reason: 'constructor' }, 'upstream_error'],
    ['an error', new Error('down'), 'upstream_error'],
    ['no error at all', undefined, 'upstream_error'],
    ['null', null, 'upstream_error'],
    ['a text', 'TimeoutError', 'upstream_error'],
    ['what does not let itself be looked at', hostile, 'upstream_error'],
  ])('%s: as expected', (_what, error, reason) => {
    expect(reasonOf(error, true)).toBe(reason);
  });

  it.each([
    ['the deadline of the answer', deadline],
    ['the limit of the section', timeout],
    ['the form in which they cut', timeLimitError(timeout)],
  ])('is budget_exhausted when it never ran, whatever was over: %s', (_what, error) => {
    expect(reasonOf(error, false)).toBe('budget_exhausted');
  });
});

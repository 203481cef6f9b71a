import { BulkheadFullError, CircuitOpenError, ResilienceTimeoutError } from 'holdfast';
import { describe, expect, it } from 'vitest';
import { retryAfterSeconds } from './client-answer.js';

describe('the seconds that a client is told to wait', () => {
  it.each([
    [-5, 1],
    [0, 1],
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    [29_500, 30],
    [1e300, Number.MAX_SAFE_INTEGER],
  ])('are whole, at least one, and written in digits: %d ms', (retryAfterMs, seconds) => {
    expect(retryAfterSeconds(new CircuitOpenError('carrier', retryAfterMs))).toBe(seconds);
    expect(String(seconds)).toMatch(/^\d+$/);
  });

  it.each([NaN, Infinity, -Infinity])('are not known when an application computed %d', (retryAfterMs) => {
    expect(retryAfterSeconds(new CircuitOpenError('carrier', retryAfterMs))).toBeUndefined();
  });

  it('are not known of a bulkhead, nor of a timeout', () => {
    expect(retryAfterSeconds(new BulkheadFullError('pool', 'full'))).toBeUndefined();
    expect(retryAfterSeconds(new ResilienceTimeoutError(100, 'carrier'))).toBeUndefined();
  });
});

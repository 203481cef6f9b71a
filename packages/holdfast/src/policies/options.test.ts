import { describe, expect, it } from 'vitest';
import {
  BudgetPolicy,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  RetryPolicy,
  TimeoutPolicy,
} from '../index.js';

type Make = (options: never) => unknown;

describe('options that are no object', () => {
  it.each<[string, Make, string]>([
    ['a retry', (options) => new RetryPolicy(options), 'Use { attempts: 3 }, a number of attempts, or false.'],
    [
      'its backoff',
      (backoff) => new RetryPolicy({ backoff }),
      "Use { delay: '200ms' } or a function of the failed attempt.",
    ],
    ['a timeout', (options) => new TimeoutPolicy(options), "Use a duration such as '2s', or { timeout: '2s' }."],
    [
      'a breaker',
      (options) => new CircuitBreakerPolicy(options),
      'Use { failureRateThreshold: 50, minimumCalls: 10 }.',
    ],
    [
      'its window',
      (slidingWindow) => new CircuitBreakerPolicy({ slidingWindow }),
      "Use { type: 'count', size: 20 } or { type: 'time', size: '10s' }.",
    ],
    [
      'its openBackoff',
      (openBackoff) => new CircuitBreakerPolicy({ openBackoff }),
      "Use { factor: 2, maxDuration: '5m' }.",
    ],
    ['a bulkhead', (options) => new BulkheadPolicy(options), 'Use { maxConcurrent: 10 }.'],
    ['a rate limit', (options) => new OutboundRateLimitPolicy(options), "Use { limit: 100, interval: '1s' }."],
    ['a fallback', (options) => new FallbackPolicy(() => 1, options), 'Use { handleIf: (error) => … }.'],
    ['a budget', (options) => new BudgetPolicy(options), "Use a duration such as '1s', or { budget: '1s' }."],
  ])('of %s are refused with what to write instead', (_whose, make, remedy) => {
    expect(() => make([] as never)).toThrow(TypeError);
    expect(() => make([] as never)).toThrow(`expected an options object, got an array. ${remedy}`);
    // Of a part, the message begins with its name; of the whole there is none.
    expect(() => make([] as never)).toThrow(/^((backoff|slidingWindow|openBackoff): )?expected/);
  });
});

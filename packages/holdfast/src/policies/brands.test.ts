import { describe, expect, it } from 'vitest';
import {
  BudgetPolicy,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  PartialResponse,
  RetryPolicy,
  TimeoutPolicy,
} from '../index.js';

describe('what `instanceof` goes by in every copy and every version of this package', () => {
  it.each([
    [RetryPolicy, 'holdfast.policy.retry'],
    [TimeoutPolicy, 'holdfast.policy.timeout'],
    [CircuitBreakerPolicy, 'holdfast.policy.circuit-breaker'],
    [BulkheadPolicy, 'holdfast.policy.bulkhead'],
    [OutboundRateLimitPolicy, 'holdfast.policy.rate-limit'],
    [FallbackPolicy, 'holdfast.policy.fallback'],
    [BudgetPolicy, 'holdfast.policy.budget'],
    [PartialResponse, 'holdfast.partial-response'],
  ])('is, for %o, the registered symbol %s', (kind, mark) => {
    const ofAnotherVersion = { [Symbol.for(mark)]: true };

    expect(ofAnotherVersion).toBeInstanceOf(kind);
  });
});

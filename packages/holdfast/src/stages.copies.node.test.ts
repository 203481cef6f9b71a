import { afterAll, describe, expect, it, vi } from 'vitest';
import { ManualWork } from '../test/manual-work.js';
import * as here from './index.js';

vi.resetModules();
/** A second copy of the package, as a second version in `node_modules` would be. */
const copy = await import('./index.js');

afterAll(() => vi.resetModules());

describe('a policy of another copy of the engine', () => {
  it('is of another class, and an instance of the same', () => {
    expect(copy.CircuitBreakerPolicy).not.toBe(here.CircuitBreakerPolicy);
    expect(new copy.CircuitBreakerPolicy()).toBeInstanceOf(here.CircuitBreakerPolicy);
    expect(new copy.CircuitBreakerPolicy()).toBeInstanceOf(here.ResiliencePolicy);
    expect(new copy.CircuitBreakerPolicy()).not.toBeInstanceOf(here.BulkheadPolicy);
    expect(new copy.CircuitBreakerPolicy()).not.toBeInstanceOf(class Derived extends here.CircuitBreakerPolicy {});
  });

  it('is shared with all that use it: a breaker', async () => {
    const circuitBreaker = new copy.CircuitBreakerPolicy({ name: 'carrier', minimumCalls: 1 });
    const down = new Error('down');
    const policy = here.createPolicy({ circuitBreaker, timeout: '1m' });

    await expect(policy.execute(() => Promise.reject(down))).rejects.toBe(down);
    expect(circuitBreaker.state).toBe('open');
    await expect(policy.execute(() => 'answer')).rejects.toBeInstanceOf(here.CircuitOpenError);
  });

  it('is shared with all that use it: a bulkhead', async () => {
    const bulkhead = new copy.BulkheadPolicy({ maxConcurrent: 1 });
    const work = new ManualWork();
    const first = here.createPolicy({ bulkhead }).execute(work.run);

    await expect(copy.createPolicy({ bulkhead }).execute(() => 'answer')).rejects.toBeInstanceOf(
      here.BulkheadFullError,
    );
    work.call(0).answer('first');
    await expect(first).resolves.toBe('first');
    expect(bulkhead.active).toBe(0);
  });

  it('is shared with all that use it: a rate limit', async () => {
    const outboundRateLimit = new copy.OutboundRateLimitPolicy({ limit: 1, interval: '1h', maxWait: 0 });
    await here.createPolicy({ outboundRateLimit }).execute(() => 'answer');

    const refused = copy.createPolicy({ outboundRateLimit }).execute(() => 'answer');
    await expect(refused).rejects.toBeInstanceOf(here.OutboundRateLimitError);
  });

  it.each([
    ['retry', new copy.RetryPolicy(), 'a RetryPolicy'],
    ['timeout', new copy.TimeoutPolicy(1), 'a TimeoutPolicy'],
    ['circuitBreaker', new copy.BulkheadPolicy(), 'a BulkheadPolicy'],
    ['bulkhead', new copy.OutboundRateLimitPolicy({ limit: 1, interval: 1 }), 'an OutboundRateLimitPolicy'],
    ['outboundRateLimit', new copy.CircuitBreakerPolicy(), 'a CircuitBreakerPolicy'],
    ['budget', new copy.BudgetPolicy({ budget: 1 }), 'a BudgetPolicy'],
    ['fallback', new copy.FallbackPolicy(() => 1), 'a FallbackPolicy'],
    ['retry', copy.createPolicy({}), 'several policies in one'],
  ])('is refused as %s with what it is', (stage, policy, kind) => {
    expect(() => here.createPolicy({ [stage]: policy })).toThrow(new RegExp(`^${stage}: expected .+, got ${kind}\\.`));
  });
});

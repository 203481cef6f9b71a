import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  createPolicy,
  OutboundRateLimitError,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  RetryPolicy,
  TimeoutPolicy,
  type OutboundRateLimitOptions,
} from '../index.js';

useFakeClock();

const outage = new Error('outage');

describe('an outbound rate limit among other policies', () => {
  it('is no failure for a breaker around it', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, recordIf: () => true });
    const policy = createPolicy({ circuitBreaker: breaker, outboundRateLimit: { limit: 1, interval: 1_000 } });
    await policy.execute(() => 1);

    expect(await errorOf(policy.execute(() => 1))).toBeInstanceOf(OutboundRateLimitError);

    expect(breaker.stats).toEqual({ total: 1, failures: 0, failureRate: 0 });
  });

  it('does not spend the limit of a timeout in its canonical place', async () => {
    const policy = createPolicy({
      timeout: 50,
      outboundRateLimit: { limit: 1, interval: 100, maxWait: 100 },
    });
    await policy.execute(() => 1);
    const waiting = outcomeOf(policy.execute(() => 'after the wait'));

    await pass(100);

    expect(waiting.value).toBe('after the wait');
  });

  it('ends a wait with a timeout around it, whose token is free again', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: 100 });
    const work = new ManualWork();
    await limit.execute(() => 1);
    const waiting = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(50), limit).execute(work.run));

    await pass(50);
    expect(waiting.state).toBe('rejected');
    await pass(50);

    expect(work.calls).toEqual([]);
    expect(limit.available).toBe(1);
  });

  it('takes a token for each attempt, and its refusal is not repeated', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 2, interval: '1h' });
    const work = vi.fn(() => Promise.reject(outage));
    const policy = ResiliencePolicy.wrap(new RetryPolicy({ attempts: 5, backoff: { delay: 10, factor: 1 } }), limit);
    const call = outcomeOf(policy.execute(work));

    await pass(100);

    expect(call.value).toBeInstanceOf(OutboundRateLimitError);
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('lets a call that has waited for its token wait for a slot next', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: 100 });
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    const policy = ResiliencePolicy.wrap(limit, bulkhead);
    const work = new ManualWork();
    const calls = [policy.execute(work.run), policy.execute(work.run)].map(outcomeOf);
    await pass(100);
    expect(bulkhead).toMatchObject({ active: 1, queued: 1 });

    work.call(0).answer();
    await microtasks();
    work.call(1).answer();
    await microtasks();

    expect(calls.map((call) => call.state)).toEqual(['fulfilled', 'fulfilled']);
  });

  it('refuses a call once when a listener of its refusal aborts that call', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100 });
    const controller = new WatchedController();
    limit.subscribe(() => controller.abort('by listener'));
    await limit.execute(() => 1);

    expect(await errorOf(limit.execute(() => 1, { signal: controller.signal }))).toBe('by listener');
    expect(controller.listeners).toBe(0);
  });
});

describe('the options of an outbound rate limit', () => {
  const valid: OutboundRateLimitOptions = { limit: 1, interval: '1s' };

  it.each<[string, Partial<OutboundRateLimitOptions>]>([
    ['a limit as large as can be counted', { limit: Number.MAX_SAFE_INTEGER }],
    ['an interval of a fraction of a millisecond', { interval: 0.5 }],
    ['a maxWait of 0', { maxWait: 0 }],
    ['undefined where it is optional', { name: undefined, maxWait: undefined }],
  ])('may be %s', async (_what, options) => {
    expect(await new OutboundRateLimitPolicy({ ...valid, ...options }).execute(() => 1)).toBe(1);
  });

  it.each<[string, unknown]>([
    ...[0, -1, 1.5, NaN, Infinity, '2', null, undefined, true].map((value): [string, unknown] => ['limit', value]),
    ...[0, -1, NaN, Infinity, '0s', '5', null, undefined].map((value): [string, unknown] => ['interval', value]),
    ...[-1, NaN, Infinity, '5', '-1s', null].map((value): [string, unknown] => ['maxWait', value]),
    ...['', 5, null].map((value): [string, unknown] => ['name', value]),
  ])('are refused when %s is %j', (option, value) => {
    const options = { ...valid, [option]: value } as OutboundRateLimitOptions;

    expect(() => new OutboundRateLimitPolicy(options)).toThrow(TypeError);
    expect(() => new OutboundRateLimitPolicy(options)).toThrow(new RegExp(`^${option}: `));
    expect(() => createPolicy({ outboundRateLimit: options })).toThrow(new RegExp(`^outboundRateLimit.${option}: `));
  });

  it('are refused when one is misspelt, and when there are none', () => {
    expect(() => new OutboundRateLimitPolicy({ ...valid, maxwait: 5 } as OutboundRateLimitOptions)).toThrow(
      /^maxwait: .*"maxWait"/,
    );
    expect(() => new OutboundRateLimitPolicy(undefined as never)).toThrow(TypeError);
  });
});

import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collectGarbage, growth, hundredBytes, MEGABYTE } from '../test/heap.js';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  createPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  RetryPolicy,
  subscribe,
  TimeoutPolicy,
  type AttemptContext,
} from './index.js';

// Needs --expose-gc. Real time and the real collector: what they leave is the subject.

const ROUNDS = 3;
const outage = new Error('outage');

const ignore = (): void => {};

/** So many calls, a thousand at a time. */
async function callMany(calls: number, call: (index: number) => Promise<unknown>): Promise<void> {
  for (let done = 0; done < calls; done += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => call(index).catch(ignore)));
  }
}

/** All stages around work that answers, fails, asks for its signal, and waits in every queue. */
function allStages(): ResiliencePolicy {
  return ResiliencePolicy.wrap(
    new FallbackPolicy(() => 'fallback'),
    new RetryPolicy({ attempts: 2, backoff: { delay: 0 } }),
    new CircuitBreakerPolicy({ failureRateThreshold: 100, minimumCalls: 20 }),
    new OutboundRateLimitPolicy({ limit: 1_000_000, interval: 1, maxWait: 1_000 }),
    new TimeoutPolicy('1m'),
    new BulkheadPolicy({ maxConcurrent: 100, maxQueue: 900 }),
  );
}

let calls = 0;
const mixedWork = (context: AttemptContext): unknown => {
  calls += 1;
  if (calls % 50 === 0) throw outage;
  if (calls % 5 === 0) return Promise.resolve(context.signal.aborted);

  return calls % 3 === 0 ? Promise.resolve(calls) : calls;
};

const warnings: Error[] = [];
const warn = (warning: Error): void => void warnings.push(warning);

beforeEach(() => {
  warnings.length = 0;
  process.on('warning', warn);
});

afterEach(() => {
  process.off('warning', warn);
  expect(warnings).toEqual([]);
});

describe('a hundred thousand calls on one long-lived signal', { timeout: 120_000 }, () => {
  const { signal } = new AbortController();

  it('leave no listener on it and nothing on the heap', async () => {
    const policy = allStages();
    const round = (): Promise<void> => callMany(100_000, () => policy.execute(mixedWork, { signal }));

    expect(await growth(round, ROUNDS)).toBeLessThan(MEGABYTE);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('are told from calls of which each leaves a hundred bytes', async () => {
    const policy = allStages();
    const kept: unknown[] = [];
    const leakingWork = (context: AttemptContext): unknown => (kept.push(hundredBytes()), mixedWork(context));
    const round = (): Promise<void> => callMany(100_000, () => policy.execute(leakingWork, { signal }));

    expect(await growth(round, 1)).toBeGreaterThan(MEGABYTE);
    expect(kept.length).toBeGreaterThan(100_000);
  });
});

describe('a thousand calls at a time of one policy', () => {
  const hang = (): Promise<never> => new Promise(() => {});
  const fail = (): never => {
    throw outage;
  };
  const answerSoon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

  it.each<[string, ResiliencePolicy, (context: AttemptContext) => unknown]>([
    ['a retry', new RetryPolicy({ attempts: 3, backoff: { delay: 1 } }), fail],
    ['a timeout', new TimeoutPolicy(2), hang],
    ['a breaker', new CircuitBreakerPolicy(), fail],
    [
      'a bulkhead with its queue',
      new BulkheadPolicy({ maxConcurrent: 100, maxQueue: 700, queueTimeout: 5 }),
      answerSoon,
    ],
    ['a rate limit with its waits', new OutboundRateLimitPolicy({ limit: 100, interval: 2, maxWait: 10 }), answerSoon],
    ['a fallback', new FallbackPolicy(answerSoon), fail],
  ])('leaves no listener and no warning: %s', async (_which, policy, work) => {
    const { signal } = new AbortController();
    const running = callMany(1_000, () => policy.execute(work, { signal }));
    expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1);

    await running;

    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('ten thousand policies made and dropped', { timeout: 120_000 }, () => {
  const { signal } = new AbortController();
  const useOnce = async (kept?: unknown[]): Promise<void> => {
    kept?.push(hundredBytes());
    const policy = createPolicy({
      fallback: () => 'fallback',
      retry: 2,
      circuitBreaker: { minimumCalls: 1, slidingWindow: { type: 'time', size: '10s' } },
      outboundRateLimit: { limit: 1, interval: '1s' },
      timeout: '1s',
      bulkhead: { maxConcurrent: 1 },
    });
    policy.subscribe(ignore);
    await policy.execute(mixedWork, { signal });
  };

  it('leave nothing, although their signal and a listener of all events live on', async () => {
    const unsubscribe = subscribe(ignore);

    expect(await growth(() => callMany(10_000, () => useOnce()), ROUNDS)).toBeLessThan(MEGABYTE);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    unsubscribe();
  });

  it('are told from policies of which each leaves a hundred bytes', async () => {
    const kept: unknown[] = [];

    expect(await growth(() => callMany(10_000, () => useOnce(kept)), ROUNDS)).toBeGreaterThan(MEGABYTE);
  });

  it('are collected one by one, open breakers and full windows included', async () => {
    const dropped = new WeakRef(await openBreaker());
    await collectGarbage();

    expect(dropped.deref()).toBeUndefined();
  });

  async function openBreaker(): Promise<CircuitBreakerPolicy> {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    await breaker.execute(() => Promise.reject(outage), { signal }).catch(ignore);
    expect(breaker.state).toBe('open');

    return breaker;
  }
});

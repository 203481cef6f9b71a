import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { outcomeOf } from '../test/outcome.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { FallbackPolicy } from './policies/fallback.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy } from './policy.js';

const down = new Error('down');
const flaw = new RangeError('of a callback');
const throwing = (): never => {
  throw flaw;
};
const fail = (): Promise<never> => Promise.reject(down);

useFakeClock();

const callbacks: [string, () => ResiliencePolicy, () => unknown][] = [
  ['retryIf', () => new RetryPolicy({ retryIf: throwing }), fail],
  ['retryOnResult', () => new RetryPolicy({ retryOnResult: throwing }), () => 'answer'],
  ['backoff', () => new RetryPolicy({ backoff: throwing }), fail],
  ['handleIf', () => new FallbackPolicy(() => 'answer', { handleIf: throwing }), fail],
  ['recordIf', () => new CircuitBreakerPolicy({ recordIf: throwing }), fail],
  ['timeout', () => new TimeoutPolicy(throwing), () => 'answer'],
];

describe.each(callbacks)('%s that throws', (name, create, work) => {
  it('is heard with its own error in place of the outcome, once', async () => {
    const run = vi.fn(work);
    const around = new RetryPolicy({ attempts: 5, retryIf: () => true, retryOnResult: () => true });

    await expect(ResiliencePolicy.wrap(around, create()).execute(run)).rejects.toBe(flaw);
    expect(run).toHaveBeenCalledTimes(name === 'timeout' ? 0 : 1);
  });

  it('frees the slot around it and the slot inside', async () => {
    const [outside, inside] = [new BulkheadPolicy({ maxConcurrent: 1 }), new BulkheadPolicy({ maxConcurrent: 1 })];
    const policy = ResiliencePolicy.wrap(outside, create(), new TimeoutPolicy(100), inside);
    for (let call = 0; call < 3; call++) await expect(policy.execute(work)).rejects.toBe(flaw);

    expect([outside.active, inside.active]).toEqual([0, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('frees the probe of a half-open breaker around it and says nothing about the dependency', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, openDuration: 100 });
    breaker.trip();
    await pass(100);
    await expect(ResiliencePolicy.wrap(breaker, create()).execute(work)).rejects.toBe(flaw);

    expect(breaker.state).toBe('half-open');
    await expect(breaker.execute(() => 'probe')).resolves.toBe('probe');
    expect(breaker.state).toBe('closed');
  });

  it('is answered for by a fallback further outside', async () => {
    const handler = vi.fn((error: unknown) => error);

    await expect(ResiliencePolicy.wrap(new FallbackPolicy(handler), create()).execute(work)).resolves.toBe(flaw);
  });
});

describe('a fallback that answers for the error of a callback', () => {
  const answering = (handler: () => unknown): ResiliencePolicy =>
    ResiliencePolicy.wrap(new FallbackPolicy(handler), new RetryPolicy({ retryIf: throwing }));

  it('fails, when it does, as anything else does: it counts', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });

    await expect(ResiliencePolicy.wrap(breaker, answering(fail)).execute(fail)).rejects.toBe(down);
    expect(breaker.stats.failures).toBe(1);
  });

  it('gives a result that may be retried as any other', async () => {
    const handler = vi.fn(() => 'not good enough');
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 1 }, retryOnResult: () => true });
    outcomeOf(ResiliencePolicy.wrap(retry, answering(handler)).execute(fail));
    await pass(1);

    expect(handler).toHaveBeenCalledTimes(2);
  });
});

describe('a predicate that is asked in a call that was given up', () => {
  it('cannot change the outcome any more', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const breaker = new CircuitBreakerPolicy({ recordIf: throwing, minimumCalls: 1 });
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), breaker);
    const call = outcomeOf(policy.execute(() => new Promise(() => {})));
    await pass(100);

    expect(call.value).toMatchObject({ code: 'TIMEOUT' });
  });
});

import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { WireBudget } from '../../test/wire-budget.js';
import { DeadlineExceededError } from '../errors.js';
import { ResiliencePolicy } from '../policy.js';
import { createPolicy } from '../stages.js';
import { BudgetPolicy } from './budget.js';
import { BulkheadPolicy } from './bulkhead.js';
import { CircuitBreakerPolicy } from './circuit-breaker.js';
import { FallbackPolicy } from './fallback.js';
import { OutboundRateLimitPolicy } from './rate-limit.js';
import { RetryPolicy } from './retry.js';
import { TimeoutPolicy } from './timeout.js';

const down = new Error('down');
const hang = (): Promise<never> => new Promise(() => {});
const fail = (): Promise<never> => Promise.reject(down);
const noJitter = (delay: number) => ({ delay, factor: 1, jitter: 'none' }) as const;

useFakeClock();

describe('waits in our own queues', () => {
  it('for a slot end with the budget, and give the place back', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    const first = new ManualWork();
    const running = outcomeOf(bulkhead.execute(first.run));
    const work = vi.fn();
    const call = outcomeOf(ResiliencePolicy.wrap(new BudgetPolicy(100), bulkhead).execute(work));
    await pass(99);
    expect(call.state).toBe('pending');
    await pass(1);
    first.call(0).answer('done');
    await microtasks();

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(running.value).toBe('done');
    expect(bulkhead).toMatchObject({ active: 0, queued: 0 });
    expect(work).not.toHaveBeenCalled();
  });

  it('for a token end with the budget, and the turn is free for others', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 150, maxWait: '1m' });
    await limit.execute(() => 0);
    const work = vi.fn();
    const call = outcomeOf(ResiliencePolicy.wrap(new BudgetPolicy(100), limit).execute(work));
    await pass(100);
    expect(call.value).toBeInstanceOf(DeadlineExceededError);

    const next = outcomeOf(limit.execute(() => 'next'));
    await pass(50);
    expect(next.value).toBe('next');
    expect(work).not.toHaveBeenCalled();
  });
});

describe('with nothing left', () => {
  it('nothing is started', async () => {
    const work = vi.fn();
    const error = await errorOf(ResiliencePolicy.wrap(new BudgetPolicy(100), new Held(100)).execute(work));

    expect(error).toBeInstanceOf(DeadlineExceededError);
    expect(work).not.toHaveBeenCalled();
  });

  it.each([
    [59, true],
    [61, false],
  ])('means less than `minRemaining`: after %d of 100 ms with 40 to stay, started: %s', async (heldMs, started) => {
    const work = vi.fn();
    const budget = new BudgetPolicy({ budget: 100, minRemaining: 40 });
    await ResiliencePolicy.wrap(budget, new Held(heldMs))
      .execute(work)
      .catch(() => {});

    expect(work).toHaveBeenCalledTimes(started ? 1 : 0);
  });

  it('a breaker counts nothing, since the work never ran', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    await errorOf(ResiliencePolicy.wrap(new BudgetPolicy(100), breaker, new Held(100)).execute(() => 0));

    expect(breaker.stats.failures).toBe(0);
    expect(breaker.state).toBe('closed');
  });
});

describe('budgets around each other', () => {
  it.each([
    [100, 300, 'outer'],
    [300, 100, 'inner'],
  ])('of %d and %d ms: the earliest rules', async (outerMs, innerMs, policy) => {
    const outer = new BudgetPolicy({ budget: outerMs, name: 'outer' });
    const inner = new BudgetPolicy({ budget: innerMs, name: 'inner' });
    const call = outcomeOf(ResiliencePolicy.wrap(outer, inner).execute(hang));
    await pass(99);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ budgetMs: 100, policy });
  });

  it('are told by the work from one another', async () => {
    const outer = new BudgetPolicy({ budget: 100, name: 'outer' });
    const inner = new BudgetPolicy({ budget: 300, name: 'inner' });

    expect(await ResiliencePolicy.wrap(outer, inner).execute(({ deadline }) => deadline?.policy)).toBe('outer');
    expect(await ResiliencePolicy.wrap(inner, outer).execute(({ deadline }) => deadline?.policy)).toBe('outer');
  });

  it('give each attempt a new one inside a retry', async () => {
    const retry = new RetryPolicy({ attempts: 2, backoff: noJitter(10) });
    const call = outcomeOf(ResiliencePolicy.wrap(retry, new BudgetPolicy(100)).execute(hang));
    await pass(209);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toBeInstanceOf(DeadlineExceededError);
  });
});

describe('a breaker inside a budget', () => {
  const calledAfter = async (beginsMs: number): Promise<CircuitBreakerPolicy> => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const queue = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    const ahead = outcomeOf(queue.execute(() => new Promise((resolve) => setTimeout(resolve, beginsMs))));
    const call = outcomeOf(ResiliencePolicy.wrap(new BudgetPolicy(100), queue, breaker).execute(hang));
    await pass(100);
    expect([ahead.state, call.state]).toEqual(['fulfilled', 'rejected']);
    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    return breaker;
  };

  it('counts a call that ran for at least half of it', async () => {
    expect((await calledAfter(50)).state).toBe('open');
  });

  it('counts no call that began too late for that', async () => {
    expect((await calledAfter(51)).state).toBe('closed');
  });

  it('counts none when the budget was set by the caller on the other side of the wire', async () => {
    const recordIf = vi.fn(() => true);
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, recordIf });
    const call = outcomeOf(ResiliencePolicy.wrap(new WireBudget(100), breaker).execute(hang));
    await pass(99);
    expect(call.state).toBe('pending');
    await pass(1);

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(recordIf).not.toHaveBeenCalled();
    expect(breaker.stats.total).toBe(0);
  });

  it('does not count one that its caller gave up', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const controller = new AbortController();
    const policy = ResiliencePolicy.wrap(new BudgetPolicy(100), breaker);
    const call = outcomeOf(policy.execute(hang, { signal: controller.signal }));
    await pass(99);
    controller.abort(down);
    await microtasks();

    expect(call.value).toBe(down);
    expect(breaker.state).toBe('closed');
  });
});

describe('a fallback', () => {
  it('answers outside of the budget, in as much time as it wants', async () => {
    const policy = createPolicy({
      budget: 100,
      fallback: (error) => new Promise((resolve) => setTimeout(resolve, 500, (error as Error).name)),
    });
    const call = outcomeOf(policy.execute(hang));
    await pass(599);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toBe('DeadlineExceededError');
  });

  it('inside a budget is bounded by it', async () => {
    const fallback = new FallbackPolicy(hang);
    const call = outcomeOf(ResiliencePolicy.wrap(new BudgetPolicy(100), fallback).execute(fail));
    await pass(100);

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
  });
});

/** Takes some of the time before anything inside begins, without letting a timer fire: a slow predicate, say. */
class Held extends TimeoutPolicy {
  constructor(milliseconds: number) {
    super(() => {
      vi.setSystemTime(Date.now() + milliseconds);
      return '1h';
    });
  }
}

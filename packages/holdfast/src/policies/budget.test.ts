import { describe, expect, it, vi } from 'vitest';
import { pass, START, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import { DeadlineExceededError } from '../errors.js';
import type { ExecuteOptions } from '../execution.js';
import { ResiliencePolicy } from '../policy.js';
import { createPolicy } from '../stages.js';
import { EventRecorder } from '../testing/index.js';
import { BudgetPolicy, type BudgetOptions } from './budget.js';
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

describe('a budget', () => {
  it('leaves a call alone that takes less', async () => {
    const work = new ManualWork();
    const call = outcomeOf(new BudgetPolicy(100).execute(work.run));
    await pass(99);
    work.call(0).answer('in time');
    await microtasks();

    expect(call).toEqual({ state: 'fulfilled', value: 'in time' });
  });

  it('ends a call exactly when it is over, with an error that says what it was', async () => {
    const call = outcomeOf(new BudgetPolicy({ budget: '1.5s', name: 'page' }).execute(hang));
    await pass(1_499);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(call.value).toMatchObject({
      name: 'DeadlineExceededError',
      code: 'DEADLINE_EXCEEDED',
      message: 'Not answered within the budget of 1500ms',
      budgetMs: 1_500,
      policy: 'page',
    });
  });

  it('is published, then aborts the signal, then rejects, all with one error', async () => {
    const policy = new BudgetPolicy({ budget: 100, name: 'page' });
    const order: unknown[] = [];
    let signal: AbortSignal | undefined;
    policy.subscribe((event) => order.push(event, signal?.aborted));
    const call = policy.execute(
      (context) => {
        signal = context.signal;
        signal.addEventListener('abort', () => order.push(context.signal.reason));
        return hang();
      },
      { source: 'Job.run' },
    );
    const rejected = call.catch((error: unknown) => void order.push(error));
    await pass(100);
    await rejected;

    expect(order.slice(0, 2)).toEqual([{ type: 'deadline', policy: 'page', source: 'Job.run', budgetMs: 100 }, false]);
    expect(order).toHaveLength(4);
    expect(order[2]).toBeInstanceOf(DeadlineExceededError);
    expect(order[2]).toBe(order[3]);
  });

  it('is one for all attempts and the waits between them', async () => {
    const policy = createPolicy({ budget: 1_000, retry: { attempts: 9, backoff: noJitter(100) }, timeout: 300 });
    const call = outcomeOf(policy.execute(hang));
    const events = new EventRecorder(policy);
    await pass(999);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ code: 'DEADLINE_EXCEEDED', budgetMs: 1_000 });
    expect(events.types).toEqual(['timeout', 'retry', 'timeout', 'retry', 'deadline']);
  });

  it('keeps neither timers nor listeners once the call is over', async () => {
    const controller = new WatchedController();
    const policy = createPolicy({ budget: '1h', retry: 2, timeout: '2h' });
    await policy.execute(() => 'answer', { signal: controller.signal });
    await errorOf(createPolicy({ budget: '1h' }).execute(fail, { signal: controller.signal }));
    const call = outcomeOf(policy.execute(hang, { signal: controller.signal }));
    expect(vi.getTimerCount()).toBe(1);
    controller.abort(down);
    await microtasks();

    expect(call.value).toBe(down);
    expect(vi.getTimerCount()).toBe(0);
    expect(controller.listeners).toBe(0);
  });

  it('is known to the work', async () => {
    const seen = await new BudgetPolicy({ budget: 100, name: 'page' }).execute(({ deadline }) => deadline);

    expect(seen).toMatchObject({ expiresAt: START + 100, budgetMs: 100, policy: 'page', inherited: false });
    expect(await new TimeoutPolicy(100).execute(({ deadline }) => deadline)).toBeUndefined();
  });

  it('is not met by an answer that comes too late, however it came to be so', async () => {
    const work = new ManualWork();
    const call = outcomeOf(new BudgetPolicy(100).execute(work.run));
    vi.setSystemTime(START + 100);
    work.call(0).answer('late');
    await microtasks();

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
  });

  it('is met by one that comes in the last millisecond', async () => {
    const work = new ManualWork();
    const call = outcomeOf(new BudgetPolicy(100).execute(work.run));
    vi.setSystemTime(START + 99);
    work.call(0).answer('in time');
    await microtasks();

    expect(call.value).toBe('in time');
  });

  it('longer than any timer of the platform does not fire at once', async () => {
    const call = outcomeOf(new BudgetPolicy(2 ** 31).execute(hang));
    await pass(2 ** 31 - 1);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ budgetMs: 2 ** 31 });
  });
});

describe('an attempt that has less left than its limit', () => {
  it('ends with the error of the deadline, and is no timeout', async () => {
    const policy = createPolicy({ budget: 100, timeout: 300 }, 'quotes');
    const events = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(hang));
    await pass(99);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ code: 'DEADLINE_EXCEEDED', policy: 'quotes', budgetMs: 100 });
    expect(events.types).toEqual(['deadline']);
  });

  it('ends with it also where both moments are one', async () => {
    const policy = createPolicy({ budget: 100, timeout: 100 });
    const events = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(hang));
    await pass(100);

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(events.types).toEqual(['deadline']);
  });

  it('ends with it when the limit is a function of the attempt', async () => {
    const policy = createPolicy({
      budget: 100,
      retry: { attempts: 3, backoff: noJitter(0) },
      timeout: (attempt) => attempt * 60,
    });
    const events = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(hang));
    await pass(100);

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(events.types).toEqual(['timeout', 'retry', 'deadline']);
  });

  it('is a timeout when the limit comes a millisecond earlier', async () => {
    const call = outcomeOf(createPolicy({ budget: 100, timeout: 99 }).execute(hang));
    await pass(99);

    expect(call.value).toMatchObject({ code: 'TIMEOUT', timeoutMs: 99 });
  });
});

describe('a wait between two attempts that does not fit into what is left', () => {
  const retrying = (delay: number): ResiliencePolicy =>
    createPolicy({ budget: 1_000, retry: { attempts: 3, backoff: noJitter(delay) } });

  it.each([[1_000], [18_000_000]])('of %d ms fails the call now, with the last real error', async (delay) => {
    const policy = retrying(delay);
    const events = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(fail));
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: down });
    expect(events.types).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is begun when it does fit and leaves a millisecond', async () => {
    const policy = retrying(999);
    const events = new EventRecorder(policy);
    const work = vi.fn(fail);
    const call = outcomeOf(policy.execute(work));
    await pass(999);

    expect(events.types).toEqual(['retry']);
    expect(work).toHaveBeenCalledTimes(2);
    expect(call.value).toBe(down);
  });

  it('is one that the dependency asks for, too', async () => {
    const busy = Object.assign(new Error('busy'), { retryAfterMs: 1_000 });
    const policy = retrying(0);
    const events = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(() => Promise.reject(busy)));
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: busy });
    expect(events.types).toEqual([]);
  });

  it('lets a hint be heeded that does fit', async () => {
    const busy = Object.assign(new Error('busy'), { retryAfterMs: 900 });
    let calls = 0;
    const call = outcomeOf(
      retrying(0).execute(() => {
        calls += 1;
        return calls === 1 ? Promise.reject(busy) : 'answer';
      }),
    );
    await pass(900);

    expect(call.value).toBe('answer');
  });

  it('fails with a result that is not good enough as that result', async () => {
    const policy = createPolicy({
      budget: 100,
      retry: { attempts: 3, backoff: noJitter(100), retryOnResult: () => true },
    });

    expect(await policy.execute(() => 'poor')).toBe('poor');
  });
});

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

describe('a budget for one call', () => {
  it('ends it as the stage does', async () => {
    const policy = createPolicy({ retry: { attempts: 9, backoff: noJitter(100) }, timeout: 300 }, 'quotes');
    const events = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(hang, { budget: '1s', source: 'Job.run' }));
    await pass(999);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ code: 'DEADLINE_EXCEEDED', budgetMs: 1_000, policy: 'quotes' });
    expect(events.of('deadline')).toEqual([{ type: 'deadline', policy: 'quotes', source: 'Job.run', budgetMs: 1_000 }]);
  });

  it('stands inside of fallbacks', async () => {
    const call = outcomeOf(
      createPolicy({ fallback: (error) => (error as DeadlineExceededError).code }).execute(hang, { budget: 100 }),
    );
    await pass(100);

    expect(call.value).toBe('DEADLINE_EXCEEDED');
  });

  it('is that of this call alone', async () => {
    const policy = new TimeoutPolicy(1_000);
    const short = outcomeOf(policy.execute(hang, { budget: 100 }));
    const long = outcomeOf(policy.execute(hang, { budget: 200 }));
    const none = outcomeOf(policy.execute(hang));
    await pass(100);
    expect([short.state, long.state]).toEqual(['rejected', 'pending']);
    await pass(100);
    expect([long.state, none.state]).toEqual(['rejected', 'pending']);
    await pass(800);

    expect(none.value).toMatchObject({ code: 'TIMEOUT' });
  });

  it.each([0, -1, NaN, Infinity, 'soon', null, {}])('of %o is refused, and the work never runs', async (budget) => {
    const work = vi.fn();
    const error = await errorOf(new TimeoutPolicy(100).execute(work, { budget } as ExecuteOptions));

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(/^budget: /);
    expect(work).not.toHaveBeenCalled();
  });
});

describe('the options of a budget', () => {
  it.each([
    [0, /^Invalid duration/],
    [-1, /^Invalid duration/],
    [NaN, /^Invalid duration/],
    ['1 fortnight', /^Invalid duration/],
    [{ budget: 0 }, /^Invalid duration/],
    [{ budget: '1s', minRemaining: -1 }, /^minRemaining: Invalid duration/],
    [{ budget: '1s', minRemaining: '1s' }, /^minRemaining: with 1000 ms nothing would ever start/],
    [{ budget: '1s', name: '' }, /^name: expected a name/],
    [{ budget: '1s', minremaining: 5 }, /^minremaining: unknown option, given 5. Did you mean "minRemaining"\?/],
    [null, /^expected an options object/],
  ])('are refused: %o', (options, message) => {
    expect(() => new BudgetPolicy(options as BudgetOptions)).toThrow(message);
    expect(() => new BudgetPolicy(options as BudgetOptions)).toThrow(TypeError);
  });

  it('of a stage are refused under its path, and so is a policy in their place', () => {
    expect(() => createPolicy({ budget: 0 })).toThrow(/^budget: Invalid duration 0/);
    expect(() => createPolicy({ budget: new BudgetPolicy(100) as never })).toThrow(
      /^budget: expected a duration, got a BudgetPolicy\./,
    );
  });

  it('may leave no more than the default to start with', async () => {
    expect(await new BudgetPolicy(1).execute(() => 'answer')).toBe('answer');
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

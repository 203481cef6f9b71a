import { describe, expect, it, vi } from 'vitest';
import { pass, START, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import { DeadlineExceededError } from '../errors.js';
import type { ExecuteOptions } from '../execution.js';
import type { ResiliencePolicy } from '../policy.js';
import { createPolicy } from '../stages.js';
import { EventRecorder } from '../testing/index.js';
import { BudgetPolicy, type BudgetOptions } from './budget.js';
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
    expect(vi.getTimerCount()).toBe(2);
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
    [{ budget: '1s', minremaining: 5 }, /^minremaining: unknown option. Did you mean "minRemaining"\?/],
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

import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { errorOf, microtasks, outcomeOf, type Outcome } from '../test/outcome.js';
import { WireBudget } from '../test/wire-budget.js';
import { DeadlineExceededError } from './errors.js';
import { BudgetPolicy } from './policies/budget.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { currentScope, runInScope } from './scope.js';
import { EventRecorder } from './testing/index.js';

const hang = (): Promise<never> => new Promise(() => {});
const down = new Error('down');
const page = (milliseconds: number): BudgetPolicy => new BudgetPolicy({ budget: milliseconds, name: 'page' });

useFakeClock();

describe('policies that are used inside of a budget', () => {
  it('end right after it when whoever set it has been answered meanwhile', async () => {
    let left: Outcome | undefined;
    const call = outcomeOf(
      page(100).execute(() => {
        left = outcomeOf(new TimeoutPolicy('1h').execute(hang));
      }),
    );
    await pass(100);
    expect([call.state, left?.state]).toEqual(['fulfilled', 'pending']);
    await pass(1);

    expect(left?.value).toBeInstanceOf(DeadlineExceededError);
    expect(left?.value).toMatchObject({ policy: 'page', budgetMs: 100 });
  });

  it('are bounded by it, through awaits and whatever stands between', async () => {
    let inner: Outcome | undefined;
    const events = new EventRecorder();
    const call = outcomeOf(
      page(100).execute(async () => {
        await microtasks();
        await new RetryPolicy(1).execute(async () => {
          inner = outcomeOf(new TimeoutPolicy(300).execute(hang));
          await hang();
        });
      }),
    );
    await pass(99);
    expect([call.state, inner?.state]).toEqual(['pending', 'pending']);
    await pass(1);
    events.stop();

    expect(inner?.value).toMatchObject({ code: 'DEADLINE_EXCEEDED', policy: 'page', budgetMs: 100 });
    expect(inner?.value).toBe(call.value);
    expect(events.types).toEqual(['deadline']);
  });

  it('begin no wait that does not fit', async () => {
    const backoff = { delay: 100, factor: 1, jitter: 'none' } as const;
    const call = outcomeOf(
      page(100).execute(() => new RetryPolicy({ attempts: 3, backoff }).execute(() => Promise.reject(down))),
    );
    await microtasks();

    expect(call.value).toBe(down);
  });

  it('start nothing with nothing left', async () => {
    const work = vi.fn();
    let inner: unknown;
    const call = outcomeOf(
      page(100).execute(async () => {
        vi.setSystemTime(Date.now() + 100);
        inner = await errorOf(new RetryPolicy(1).execute(work));
      }),
    );
    await microtasks();

    expect(inner).toBeInstanceOf(DeadlineExceededError);
    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(work).not.toHaveBeenCalled();
  });

  it('have the earlier one when they have a budget too', async () => {
    const inner: Outcome[] = [];
    const call = outcomeOf(
      page(200).execute(async () => {
        inner.push(outcomeOf(new BudgetPolicy({ budget: 100, name: 'short' }).execute(hang)));
        inner.push(outcomeOf(new BudgetPolicy({ budget: 300, name: 'long' }).execute(hang)));
        inner.push(outcomeOf(new RetryPolicy(1).execute(hang, { budget: 150 })));
        await hang();
      }),
    );
    await pass(200);

    expect(inner.map(({ value }) => (value as DeadlineExceededError).policy)).toEqual(['short', 'page', 'retry']);
    expect(call.value).toMatchObject({ policy: 'page' });
  });

  it('leave it when they are detached', async () => {
    let seen: unknown = 'nothing';
    let inner: Outcome | undefined;
    const call = outcomeOf(
      page(100).execute(async () => {
        const work = ({ deadline }: { deadline?: unknown }): Promise<never> => {
          seen = deadline;
          return hang();
        };
        inner = outcomeOf(new TimeoutPolicy(300).execute(work, { detached: true }));
        await hang();
      }),
    );
    await pass(299);
    expect(seen).toBeUndefined();
    expect([call.state, inner?.state]).toEqual(['rejected', 'pending']);

    await pass(1);
    expect(inner?.value).toMatchObject({ code: 'TIMEOUT', timeoutMs: 300 });
  });

  it('are not bounded by it any more once it was met', async () => {
    let later: (() => Promise<unknown>) | undefined;
    await page(100).execute(async () => {
      const bound = new RetryPolicy(1);
      later = () => bound.execute(() => currentScope()?.deadline);
      await microtasks();
    });

    expect(await later?.()).toBeUndefined();
  });

  it.each([
    ['counts when it was set here', page(100), 1],
    ['does not count when it came over the wire', new WireBudget(100), 0],
  ])('and that outlive it are cut by it in their own breaker, which %s', async (_what, budget, failures) => {
    const breaker = new CircuitBreakerPolicy();
    let left: Outcome | undefined;
    await budget.execute(() => {
      left = outcomeOf(RetryPolicy.wrap(breaker, new TimeoutPolicy('1h')).execute(hang));
    });
    await pass(101);

    expect(left?.value).toBeInstanceOf(DeadlineExceededError);
    expect(breaker.stats).toMatchObject({ total: failures, failures });
  });

  it('count as failed in their breaker when they were cut after half of it', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const call = outcomeOf(page(100).execute(() => breaker.execute(hang)));
    await pass(100);

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(breaker.state).toBe('open');
  });
});

describe('the ambient attempt', () => {
  it('knows the deadline', async () => {
    await page(100).execute(async ({ deadline }) => {
      await microtasks();
      expect(deadline).toMatchObject({ policy: 'page' });
      expect(currentScope()?.deadline).toBe(deadline);
      runInScope({ signal: new AbortController().signal }, () => {
        expect(currentScope()?.deadline).toBe(deadline);
      });
    });
    expect.assertions(3);
  });

  it('is opened for a budget, and not where that is not wanted', async () => {
    const ambience = (ambient: boolean): Promise<boolean> =>
      page(100).execute((context) => currentScope() === context, { ambient });

    expect(await ambience(true)).toBe(true);
    expect(await ambience(false)).toBe(false);
  });
});

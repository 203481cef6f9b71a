import { afterEach, describe, expect, it, vi } from 'vitest';
import { fire, hold, nextMacrotask, useHeldClock } from '../../test/held-clock.js';
import { microtasks, outcomeOf, type Outcome } from '../../test/outcome.js';
import { BudgetPolicy, CircuitBreakerPolicy, DeadlineExceededError, ResiliencePolicy } from '../index.js';
import { fetchJson, requireValue } from './index.js';

const BUDGET = 100;
const URL = 'https://flags.test/v1/evaluate';

useHeldClock();
afterEach(() => void vi.unstubAllGlobals());

/** Starts a call that never ends by itself, so many milliseconds after its budget has begun. */
async function callInside(policy: ResiliencePolicy, beginsAt: number): Promise<Outcome> {
  vi.stubGlobal('fetch', () => new Promise<never>(() => {}));
  const outcome = outcomeOf(
    policy.execute(async () => {
      hold(beginsAt);
      return requireValue(await fetchJson(URL, {}, '10s'));
    }),
  );
  await microtasks();

  return outcome;
}

describe('A call of fetchJson() that its budget ends', () => {
  it('fails with the error of the deadline when its own timer is the first', async () => {
    const call = await callInside(new BudgetPolicy(BUDGET), 40);
    // Its timer runs for 60 ms, and that of the budget for 100.
    await fire(60, 60);

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(call.value).toMatchObject({ budgetMs: BUDGET });
  });

  it('does so too when the event loop was held, and is then no failure of the dependency', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const call = await callInside(ResiliencePolicy.wrap(new BudgetPolicy(BUDGET), breaker), 40);
    await fire(60, 60 + 51);
    expect(call.state).toBe('pending');
    await nextMacrotask();

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(breaker.stats.total).toBe(0);
  });

  it('does so too when it finds nothing left of it, and no call is made', async () => {
    const call = await callInside(new BudgetPolicy(BUDGET), BUDGET);

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
  });

  it('is what its own work makes of it when that is another failure', async () => {
    const other = new Error('something else');
    const call = outcomeOf(
      new BudgetPolicy(BUDGET).execute(async () => {
        hold(BUDGET);
        throw other;
      }),
    );
    await microtasks();

    expect(call.value).toBe(other);
  });

  it('does not count an answer that comes after it, before anybody has looked at the clock', async () => {
    let answer: (response: Response) => void = () => {};
    vi.stubGlobal('fetch', () => new Promise<Response>((resolve) => (answer = resolve)));
    const call = outcomeOf(new BudgetPolicy(BUDGET).execute(async () => requireValue(await fetchJson(URL, {}, '10s'))));
    await microtasks();
    hold(BUDGET);
    answer(Response.json('late'));
    await nextMacrotask();

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
  });
});

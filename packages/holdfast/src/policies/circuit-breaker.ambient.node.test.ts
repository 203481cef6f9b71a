import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { outcomeOf, type Outcome } from '../../test/outcome.js';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  TimeoutPolicy,
} from '../index.js';

// What policies inherit from the attempt around them, which takes a host that carries it.

useFakeClock();

const hang = (): Promise<never> => new Promise(() => {});

describe('a breaker used inside an attempt', () => {
  it.each([
    [50, 1],
    [51, 0],
  ])('entered after %d ms of its 100 counts the timeout that cuts it %d times', async (before, failures) => {
    const breaker = new CircuitBreakerPolicy();
    const call = outcomeOf(
      new TimeoutPolicy(100).execute(async () => {
        await new Promise((resolve) => setTimeout(resolve, before));
        await breaker.execute(hang);
      }),
    );

    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.stats).toMatchObject({ total: failures, failures });
  });

  it('does not count a timeout that it was detached from', async () => {
    const breaker = new CircuitBreakerPolicy();
    const work = new ManualWork();
    let inner: Outcome | undefined;
    const call = outcomeOf(
      new TimeoutPolicy(100).execute(() => {
        inner = outcomeOf(breaker.execute(work.run, { detached: true }));
        return hang();
      }),
    );

    await pass(100);
    expect(call.state).toBe('rejected');
    expect(inner?.state).toBe('pending');
    work.call(0).answer();
    await pass(0);

    expect(breaker.stats).toEqual({ total: 1, failures: 0, failureRate: 0 });
  });
});

describe('a breaker around work that waits in a queue further down', () => {
  /** Runs into a timeout of 100 ms, of which the work waits `waitMs` for a slot of a bulkhead of its own. */
  async function waitInside(waitMs: number, beside?: () => Promise<unknown>): Promise<CircuitBreakerPolicy> {
    const breaker = new CircuitBreakerPolicy();
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    const occupant = new ManualWork();
    const first = bulkhead.execute(occupant.run);
    const policy = ResiliencePolicy.wrap(breaker, new TimeoutPolicy(100));
    const call = outcomeOf(policy.execute(() => Promise.all([bulkhead.execute(hang), beside?.()])));
    await pass(waitMs);
    occupant.call(0).answer();
    await first;
    await pass(100 - waitMs);
    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);

    return breaker;
  }

  it('counts when it has run for half of its limit, and not before', async () => {
    expect((await waitInside(50)).stats.failures).toBe(1);
    expect((await waitInside(51)).stats.total).toBe(0);
  });

  it('counts when another call of the work has not waited', async () => {
    const other = new BulkheadPolicy();

    expect((await waitInside(51, () => other.execute(hang))).stats.failures).toBe(1);
  });
});

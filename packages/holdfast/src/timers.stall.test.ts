import { describe, expect, it, vi } from 'vitest';
import { fire, hold, useHeldClock } from '../test/held-clock.js';
import { ManualWork } from '../test/manual-work.js';
import { microtasks, outcomeOf } from '../test/outcome.js';
import { WatchedController } from '../test/watched-signal.js';
import { BulkheadFullError, DeadlineExceededError, ResilienceTimeoutError } from './errors.js';
import { BudgetPolicy } from './policies/budget.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy } from './policy.js';
import { EventRecorder } from './testing/index.js';

useHeldClock();

/** Fires the timers of the next `milliseconds`, `lateMs` after they were due. */
const fireLate = (milliseconds: number, lateMs: number): Promise<void> => fire(milliseconds, milliseconds + lateMs);

/** Lets input be handled that has arrived. */
async function nextMacrotask(): Promise<void> {
  await vi.advanceTimersByTimeAsync(1);
  const { setImmediate: immediately } = globalThis as { setImmediate?: (callback: () => void) => unknown };
  if (immediately !== undefined) await new Promise<void>((resolve) => immediately(resolve));
}

function limited(): { breaker: CircuitBreakerPolicy; policy: ResiliencePolicy; recorder: EventRecorder } {
  const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
  const policy = ResiliencePolicy.wrap(breaker, new TimeoutPolicy(100));

  return { breaker, policy, recorder: new EventRecorder(policy) };
}

describe('a limit whose timer fires late', () => {
  it.each([0, 1, 50])('by %d ms is over at once and counts', async (late) => {
    const { breaker, policy } = limited();
    const call = outcomeOf(policy.execute(new ManualWork().run));
    await fireLate(100, late);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.stats.failures).toBe(1);
    expect(breaker.state).toBe('open');
  });

  it.each([50.5, 51, 250])('by %d ms lets an answer win that has arrived', async (late) => {
    const { breaker, policy, recorder } = limited();
    const work = new ManualWork();
    const call = outcomeOf(policy.execute(work.run));
    const { signal } = work.call(0).context;
    await fireLate(100, late);
    expect(call.state).toBe('pending');

    work.call(0).answer('was already there');
    await nextMacrotask();
    expect(call).toEqual({ state: 'fulfilled', value: 'was already there' });
    expect(signal.aborted).toBe(false);
    expect(recorder.events).toEqual([]);
    expect(breaker.stats).toMatchObject({ total: 1, failures: 0 });
  });

  it('is over one macrotask later when nothing has arrived, which is no fault of the dependency', async () => {
    const { breaker, policy, recorder } = limited();
    const work = new ManualWork();
    const call = outcomeOf(policy.execute(work.run));
    const { signal } = work.call(0).context;
    await fireLate(100, 51);
    expect(signal.aborted).toBe(false);

    await nextMacrotask();
    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(call.value).toMatchObject({ timeoutMs: 100 });
    expect(signal.reason).toBe(call.value);
    expect(recorder.types).toEqual(['timeout']);
    expect(breaker.stats.total).toBe(0);
    expect(breaker.state).toBe('closed');
  });

  it('is retried like any other', async () => {
    const policy = ResiliencePolicy.wrap(
      new RetryPolicy({ backoff: { delay: 10, factor: 1 } }),
      new TimeoutPolicy(100),
    );
    const work = new ManualWork();
    const call = outcomeOf(policy.execute(work.run));
    await fireLate(100, 500);
    await nextMacrotask();
    await fireLate(10, 0);
    work.call(1).answer('second');
    await microtasks();

    expect(call.value).toBe('second');
  });

  it('frees the probe of a half-open breaker, which stays half-open', async () => {
    const { breaker, policy } = limited();
    breaker.trip();
    hold(30_000);
    outcomeOf(policy.execute(new ManualWork().run));
    await fireLate(100, 51);
    await nextMacrotask();
    expect(breaker.state).toBe('half-open');

    await expect(policy.execute(() => 'answer')).resolves.toBe('answer');
    expect(breaker.state).toBe('closed');
  });

  it('gives way to a caller that leaves meanwhile', async () => {
    const { policy, recorder } = limited();
    const controller = new WatchedController();
    const call = outcomeOf(policy.execute(new ManualWork().run, { signal: controller.signal }));
    await fireLate(100, 51);
    controller.abort('left');
    await nextMacrotask();

    expect(call).toEqual({ state: 'rejected', value: 'left' });
    expect(recorder.events).toEqual([]);
  });

  it('is not waited for twice by limits around each other', async () => {
    const policy = ResiliencePolicy.wrap(
      new TimeoutPolicy({ timeout: 100, name: 'outer' }),
      new TimeoutPolicy({ timeout: 100, name: 'inner' }),
    );
    const recorder = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(new ManualWork().run));
    await fireLate(100, 51);
    await nextMacrotask();

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(recorder.types).toEqual(['timeout']);
  });
});

describe('a budget whose timer fires late', () => {
  const budgeted = (): { breaker: CircuitBreakerPolicy; policy: ResiliencePolicy; recorder: EventRecorder } => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const policy = ResiliencePolicy.wrap(new BudgetPolicy(100), breaker);

    return { breaker, policy, recorder: new EventRecorder(policy) };
  };

  it('by 50 ms is over at once and counts', async () => {
    const { breaker, policy } = budgeted();
    const call = outcomeOf(policy.execute(new ManualWork().run));
    await fireLate(100, 50);

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(breaker.stats.failures).toBe(1);
  });

  it('by 51 ms is over one macrotask later when nothing has arrived, which is no fault of the dependency', async () => {
    const { breaker, policy, recorder } = budgeted();
    const call = outcomeOf(policy.execute(new ManualWork().run));
    await fireLate(100, 51);
    expect(call.state).toBe('pending');

    await nextMacrotask();
    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(recorder.types).toEqual(['deadline']);
    expect(breaker.stats.total).toBe(0);
  });

  it('is not met by an answer that has arrived, which comes too late for whoever set it', async () => {
    const { breaker, policy, recorder } = budgeted();
    const work = new ManualWork();
    const call = outcomeOf(policy.execute(work.run));
    await fireLate(100, 51);
    work.call(0).answer('was already there');
    await nextMacrotask();

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(recorder.events).toEqual([]);
    expect(breaker.stats).toMatchObject({ total: 1, failures: 0 });
  });
});

describe('a place in a queue whose time is over late', () => {
  const queueing = (): { policy: BulkheadPolicy; work: ManualWork } => ({
    policy: new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1, queueTimeout: 100 }),
    work: new ManualWork(),
  });

  it('is kept for a slot that has become free meanwhile', async () => {
    const { policy, work } = queueing();
    outcomeOf(policy.execute(work.run));
    const waiting = outcomeOf(policy.execute(() => 'had its turn'));
    await fireLate(100, 51);
    work.call(0).answer();
    await nextMacrotask();

    expect(waiting.value).toBe('had its turn');
    expect([policy.active, policy.queued]).toEqual([0, 0]);
  });

  it('is lost one macrotask later when none has', async () => {
    const { policy, work } = queueing();
    outcomeOf(policy.execute(work.run));
    const waiting = outcomeOf(policy.execute(() => 'had its turn'));
    await fireLate(100, 51);
    expect(waiting.state).toBe('pending');

    await nextMacrotask();
    expect(waiting.value).toBeInstanceOf(BulkheadFullError);
    expect([policy.active, policy.queued]).toEqual([1, 0]);
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { ManualWork } from '../test/manual-work.js';
import { microtasks, outcomeOf } from '../test/outcome.js';
import {
  BudgetPolicy,
  BulkheadPolicy,
  collect,
  fanOut,
  optional,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
} from './index.js';
import { EventRecorder } from './testing/index.js';

useFakeClock();

const reason = new Error('the caller left');

/** A clock that was mocked after the timers were set knows nothing of them, so that they fire although they were stopped. */
describe('a timer that fires although it was stopped', () => {
  beforeEach(() => void vi.spyOn(globalThis, 'clearTimeout').mockImplementation(() => {}));
  afterEach(() => vi.restoreAllMocks());

  it('begins no attempt of a call that its caller has left', async () => {
    const controller = new AbortController();
    const work = vi.fn(() => Promise.reject(new Error('down')));
    const policy = new RetryPolicy({ attempts: 3, backoff: { delay: 50, factor: 1 } });
    const call = outcomeOf(policy.execute(work, { signal: controller.signal }));
    await microtasks();
    controller.abort(reason);
    await pass(1_000);

    expect(call.value).toBe(reason);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('begins no attempt of a call that a limit around it has ended', async () => {
    const work = vi.fn(() => Promise.reject(new Error('down')));
    const retry = new RetryPolicy({ attempts: 3, backoff: { delay: 50, factor: 1 } });
    const call = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(20), retry).execute(work));
    await pass(1_000);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('ends nothing that has been answered, and nobody hears of a timeout', async () => {
    const policy = new TimeoutPolicy(100);
    const recorder = new EventRecorder(policy);
    await policy.execute(() => 'in time');
    await pass(100);

    expect(recorder.events).toEqual([]);
  });

  it('ends no attempt that is not the one of its budget', async () => {
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 50, factor: 1 } });
    const policy = ResiliencePolicy.wrap(retry, new BudgetPolicy(100));
    const recorder = new EventRecorder(policy);
    const work = new ManualWork();
    const call = outcomeOf(policy.execute(work.run));
    work.call(0).fail(new Error('down'));
    await pass(149);
    expect(call.state).toBe('pending');
    expect(recorder.types).toEqual(['retry']);

    await pass(1);
    expect(call.value).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(recorder.types).toEqual(['retry', 'deadline']);
  });

  it('takes nothing away from sections that have answered', async () => {
    const recorder = new EventRecorder();
    const page = await fanOut({ a: optional(() => 1, { timeout: 50, fallback: 0 }) }, { budget: 100 });
    const parts = collect({ budget: 100 });
    await expect(parts.optional('b', () => 2, { fallback: 0 })).resolves.toBe(2);
    await pass(100);
    recorder.stop();

    expect([page.degraded, parts.degraded, recorder.events]).toEqual([[], [], []]);
  });

  it('turns no call away that has its slot, and counts nobody out of the queue', async () => {
    const policy = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 3, queueTimeout: 50 });
    const work = new ManualWork();
    const [, granted] = [1, 2].map(() => outcomeOf(policy.execute(work.run)));
    work.call(0).answer();
    await pass(10);
    const waiting = outcomeOf(policy.execute(work.run));
    await pass(40);
    expect([granted?.state, waiting.state, policy.active, policy.queued]).toEqual(['pending', 'pending', 1, 1]);

    work.call(1).answer('granted');
    await microtasks();
    work.call(2).answer('waited');
    await pass(100);
    expect([granted?.value, waiting.value, policy.active, policy.queued]).toEqual(['granted', 'waited', 0, 0]);
  });

  it('starts no call that has given its turn back', async () => {
    const controller = new AbortController();
    const policy = new OutboundRateLimitPolicy({ limit: 1, interval: 50, maxWait: 1_000 });
    const work = vi.fn();
    await policy.execute(() => 'takes the token');
    const call = outcomeOf(policy.execute(work, { signal: controller.signal }));
    controller.abort(reason);
    await pass(50);

    expect(call.value).toBe(reason);
    expect(work).not.toHaveBeenCalled();
    expect(policy.available).toBe(1);
  });

  it('starts no call either that a limit around it has ended before its turn', async () => {
    const policy = new OutboundRateLimitPolicy({ limit: 1, interval: 50, maxWait: 1_000 });
    const work = vi.fn();
    await policy.execute(() => 'takes the token');
    const call = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(20), policy).execute(work));
    await pass(50);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(work).not.toHaveBeenCalled();
    expect(policy.available).toBe(1);
  });
});

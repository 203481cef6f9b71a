import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { microtasks, outcomeOf } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import { DownstreamError, EventRecorder, ScriptedDownstream } from '../testing/index.js';
import { RetryPolicy } from './retry.js';

const STEADY = { delay: 800, factor: 1 } as const;
const down = new Error('down');
const reason = new Error('the caller left');

useFakeClock();

describe('a retry whose caller leaves', () => {
  it('inside of retryIf has no wait asked for', async () => {
    const controller = new AbortController();
    const backoff = vi.fn(() => 10);
    const policy = new RetryPolicy({ retryIf: () => (controller.abort(reason), true), backoff });
    const call = outcomeOf(policy.execute(() => Promise.reject(down), { signal: controller.signal }));
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: reason });
    expect(backoff).not.toHaveBeenCalled();
  });

  it('during the wait rejects at once with the reason, after one call, and its timer is gone', async () => {
    const controller = new WatchedController();
    const downstream = new ScriptedDownstream([{ fail: 503 }]);
    const policy = new RetryPolicy({ attempts: 5, backoff: STEADY });
    const call = outcomeOf(policy.execute(downstream.call, { signal: controller.signal }));
    await pass(50);
    expect(vi.getTimerCount()).toBe(1);
    controller.abort(reason);
    await microtasks();

    expect(call.state).toBe('rejected');
    expect(call.value).toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
    expect(controller.listeners).toBe(0);
    await pass(10_000);
    expect(downstream.calls).toHaveLength(1);
  });

  it('during an attempt rejects at once with the reason, whatever the work does', async () => {
    const controller = new WatchedController();
    const work = new ManualWork();
    const call = outcomeOf(new RetryPolicy(5).execute(work.run, { signal: controller.signal }));
    await microtasks();
    controller.abort(reason);
    await microtasks();

    expect(call.value).toBe(reason);
    expect(work.call(0).context.signal.reason).toBe(reason);
    work.call(0).fail(new Error('too late'));
    await pass(10_000);
    expect(work.calls).toHaveLength(1);
    expect(controller.listeners).toBe(0);
  });

  it('aborts the signal of the attempt that runs, and not that of those before', async () => {
    const controller = new WatchedController();
    const work = new ManualWork();
    outcomeOf(new RetryPolicy({ backoff: STEADY }).execute(work.run, { signal: controller.signal }));
    const first = work.call(0).context.signal;
    work.call(0).fail(down);
    await pass(800);
    const second = work.call(1).context.signal;
    controller.abort(reason);

    expect(first.aborted).toBe(false);
    expect(second.reason).toBe(reason);
  });

  it('before it begins rejects with the reason and calls nothing', async () => {
    const work = vi.fn(() => 'answer');
    const retryIf = vi.fn(() => true);
    const signal = AbortSignal.abort(reason);

    await expect(new RetryPolicy({ retryIf }).execute(work, { signal })).rejects.toBe(reason);
    expect(work).not.toHaveBeenCalled();
    expect(retryIf).not.toHaveBeenCalled();
  });

  it('asks no predicate and emits no event', async () => {
    const controller = new WatchedController();
    const retryIf = vi.fn(() => true);
    const policy = new RetryPolicy({ attempts: 5, retryIf });
    const recorder = new EventRecorder(policy);
    const downstream = new ScriptedDownstream([{ hang: true }]);
    outcomeOf(policy.execute(downstream.call, { signal: controller.signal }));
    controller.abort(reason);
    await microtasks();

    expect(downstream.calls[0]).toMatchObject({ state: 'cancelled', reason });
    expect(retryIf).not.toHaveBeenCalled();
    expect(recorder.events).toEqual([]);
  });

  it.each([['a text'], [{ an: 'object' }], [0], [null]])('rejects with %j itself', async (given) => {
    const controller = new WatchedController();
    const call = outcomeOf(new RetryPolicy(2).execute(() => new Promise(() => {}), { signal: controller.signal }));
    controller.abort(given);
    await microtasks();

    expect(call.state).toBe('rejected');
    expect(call.value).toBe(given);
  });

  it('without a reason rejects with that of the platform', async () => {
    const controller = new WatchedController();
    const call = outcomeOf(new RetryPolicy(2).execute(() => new Promise(() => {}), { signal: controller.signal }));
    controller.abort();
    await microtasks();

    expect(call.value).toBe(controller.signal.reason);
    expect((call.value as Error).name).toBe('AbortError');
  });
});

describe('a caller that leaves in the middle of a callback', () => {
  const run = async (
    options: (leave: () => void) => ConstructorParameters<typeof RetryPolicy>[0],
    work: () => unknown = () => Promise.reject(down),
  ) => {
    const controller = new WatchedController();
    const runs = vi.fn(work);
    const policy = new RetryPolicy(options(() => controller.abort(reason)));
    const recorder = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(runs, { signal: controller.signal }));
    await microtasks();
    const timers = vi.getTimerCount();
    await pass(10_000);

    return { call, timers, calls: runs.mock.calls.length, events: recorder.types, listeners: controller.listeners };
  };
  const nothingMore = { call: { state: 'rejected', value: reason }, timers: 0, calls: 1, events: [], listeners: 0 };

  it('gets its reason, and nothing more happens, when it leaves in retryIf', async () => {
    expect(await run((leave) => ({ retryIf: () => (leave(), true) }))).toEqual(nothingMore);
    expect(await run((leave) => ({ retryIf: () => (leave(), false) }))).toEqual(nothingMore);
  });

  it('gets its reason, and nothing more happens, when it leaves in retryOnResult', async () => {
    expect(
      await run(
        (leave) => ({ retryOnResult: () => (leave(), true) }),
        () => 'answer',
      ),
    ).toEqual(nothingMore);
    expect(
      await run(
        (leave) => ({ retryOnResult: () => (leave(), false) }),
        () => 'answer',
      ),
    ).toEqual(nothingMore);
  });

  it('gets its reason, and nothing more happens, when it leaves in a backoff function', async () => {
    expect(await run((leave) => ({ backoff: () => (leave(), 100) }))).toEqual(nothingMore);
    expect(await run((leave) => ({ backoff: () => (leave(), NaN) }))).toEqual(nothingMore);
  });

  it('gets its reason, and nothing more happens, when a predicate leaves and throws', async () => {
    const throwing = (leave: () => void) => (): never => {
      leave();
      throw new RangeError('of the predicate');
    };

    expect(await run((leave) => ({ retryIf: throwing(leave) }))).toEqual(nothingMore);
    expect(await run((leave) => ({ backoff: throwing(leave) }))).toEqual(nothingMore);
  });

  it('gets its reason, and no other attempt, when it leaves in a listener of the retry event', async () => {
    const controller = new WatchedController();
    const policy = new RetryPolicy({ attempts: 5, backoff: STEADY });
    const work = vi.fn(() => Promise.reject(down));
    policy.subscribe(() => controller.abort(reason));
    const call = outcomeOf(policy.execute(work, { signal: controller.signal }));
    await microtasks();

    expect(call.value).toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('gets its reason when the work itself makes it leave, whatever it returns', async () => {
    const controller = new WatchedController();
    const work = vi.fn(() => {
      controller.abort(reason);
      return 'answer';
    });

    await expect(new RetryPolicy(5).execute(work, { signal: controller.signal })).rejects.toBe(reason);
    expect(work).toHaveBeenCalledTimes(1);
    expect(controller.listeners).toBe(0);
  });
});

describe('one long-lived signal', () => {
  it('has no listener left after a thousand calls with retries, and never more than one', async () => {
    const controller = new WatchedController();
    const add = vi.spyOn(controller.signal, 'addEventListener');
    const policy = new RetryPolicy({ attempts: 3, backoff: { delay: 1, factor: 1 } });
    let most = 0;
    const calls = Array.from({ length: 1_000 }, (_, index) => {
      const failures = index % 4;
      const errors = Array.from({ length: failures }, () => new DownstreamError(503));
      const work = (): unknown => {
        most = Math.max(most, controller.listeners);
        const error = errors.pop();
        if (error !== undefined) throw error;
        return index;
      };
      return outcomeOf(policy.execute(work, { signal: controller.signal }));
    });
    await pass(10);

    expect(calls.filter(({ state }) => state === 'pending')).toEqual([]);
    expect(calls.filter(({ state }) => state === 'rejected')).toHaveLength(250);
    expect(add).toHaveBeenCalled();
    expect(most).toBe(1);
    expect(controller.listeners).toBe(0);
  });
});

describe('a caller whose abort was hidden from us', () => {
  it('by a listener that stops all others gets no further attempt', async () => {
    const controller = new AbortController();
    controller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
    const work = vi.fn(async () => {
      controller.abort(new Error('left'));
      throw new Error('down');
    });
    const call = new RetryPolicy({ attempts: 3, backoff: { delay: 1 } }).execute(work, { signal: controller.signal });

    await expect(call).rejects.toThrow('down');
    expect(work).toHaveBeenCalledTimes(1);
  });
});

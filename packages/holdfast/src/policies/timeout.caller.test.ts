import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { microtasks, outcomeOf } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import { ResilienceTimeoutError } from '../errors.js';
import { ResiliencePolicy } from '../policy.js';
import { EventRecorder, ScriptedDownstream } from '../testing/index.js';
import { RetryPolicy } from './retry.js';
import { TimeoutPolicy } from './timeout.js';

const reason = new Error('the caller left');
const STEADY = { delay: 10, factor: 1 } as const;

useFakeClock();

describe('the signal of a limited attempt', () => {
  it('is never the one of the caller', async () => {
    const controller = new WatchedController();
    const work = new ManualWork();
    outcomeOf(new TimeoutPolicy(100).execute(work.run, { signal: controller.signal }));

    expect(work.call(0).context.signal).not.toBe(controller.signal);
    await pass(100);
    expect(controller.signal.aborted).toBe(false);
  });

  it('follows the caller while the attempt runs, with the reason itself', () => {
    const controller = new WatchedController();
    const work = new ManualWork();
    outcomeOf(new TimeoutPolicy(100).execute(work.run, { signal: controller.signal }));
    controller.abort(reason);

    expect(work.call(0).context.signal.reason).toBe(reason);
  });

  it.each(['answer', 'fail'] as const)('follows nobody once the work is over with "%s"', async (end) => {
    const controller = new WatchedController();
    const work = new ManualWork();
    outcomeOf(new TimeoutPolicy(100).execute(work.run, { signal: controller.signal }));
    const { signal } = work.call(0).context;
    work.call(0)[end]('over');
    await microtasks();
    controller.abort(reason);
    await pass(1_000);

    expect(signal.aborted).toBe(false);
    expect(controller.listeners).toBe(0);
  });

  it('asked for only after a success was never aborted', async () => {
    const controller = new WatchedController();
    const work = new ManualWork();
    outcomeOf(new TimeoutPolicy(100).execute(work.run, { signal: controller.signal }));
    work.call(0).answer('in time');
    await microtasks();
    controller.abort(reason);
    await pass(1_000);

    expect(work.call(0).context.signal.aborted).toBe(false);
  });

  it('leaves nothing on a long-lived signal of the caller after 200 attempts', async () => {
    const controller = new WatchedController();
    const policy = ResiliencePolicy.wrap(
      new RetryPolicy({ attempts: 4, backoff: { delay: 1, factor: 1 } }),
      new TimeoutPolicy(10),
    );
    const downstream = new ScriptedDownstream([{ hang: true }]);
    const calls = Array.from({ length: 50 }, () =>
      outcomeOf(policy.execute(downstream.call, { signal: controller.signal })),
    );
    await pass(1_000);

    expect(downstream.calls).toHaveLength(200);
    expect(calls.every(({ value }) => value instanceof ResilienceTimeoutError)).toBe(true);
    expect(controller.listeners).toBe(0);
  });
});

describe('a caller that leaves before the limit is over', () => {
  it('gets its own reason at once and nobody hears of a timeout', async () => {
    const controller = new WatchedController();
    const policy = new TimeoutPolicy(5_000);
    const recorder = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(new ManualWork().run, { signal: controller.signal }));
    await pass(20);
    controller.abort(reason);
    await microtasks();
    expect(call).toEqual({ state: 'rejected', value: reason });

    await pass(10_000);
    expect(recorder.events).toEqual([]);
  });

  it('is not waited for: a signal that has aborted already keeps the work from running', async () => {
    const work = vi.fn(() => 'answer');

    await expect(new TimeoutPolicy(100).execute(work, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(work).not.toHaveBeenCalled();
  });

  it('in the same moment as the limit gets what came first', async () => {
    const controller = new WatchedController();
    const policy = new TimeoutPolicy(100);
    setTimeout(() => controller.abort(reason), 100);
    const beforeLimit = outcomeOf(policy.execute(new ManualWork().run, { signal: controller.signal }));
    const other = new WatchedController();
    const afterLimit = outcomeOf(policy.execute(new ManualWork().run, { signal: other.signal }));
    setTimeout(() => other.abort(reason), 100);
    await pass(100);

    expect(beforeLimit.value).toBe(reason);
    expect(afterLimit.value).toBeInstanceOf(ResilienceTimeoutError);
  });

  it('in a listener of the timeout event gets its reason, and so does the work', async () => {
    const controller = new WatchedController();
    const policy = new TimeoutPolicy(100);
    const work = new ManualWork();
    policy.subscribe(() => controller.abort(reason));
    const call = outcomeOf(policy.execute(work.run, { signal: controller.signal }));
    const { signal } = work.call(0).context;
    await pass(100);

    expect(call.value).toBe(reason);
    expect(signal.reason).toBe(reason);
  });

  it('in a function of the limit gets its reason, and no work is begun', async () => {
    const controller = new WatchedController();
    const policy = new TimeoutPolicy(() => (controller.abort(reason), 100));
    const recorder = new EventRecorder(policy);
    const work = vi.fn(() => 'answer');
    const call = outcomeOf(policy.execute(work, { signal: controller.signal }));
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: reason });
    expect(vi.getTimerCount()).toBe(0);
    await pass(1_000);
    expect(work).not.toHaveBeenCalled();
    expect(recorder.events).toEqual([]);
  });
});

describe('where a limit stands', () => {
  it('inside a retry it is that of each attempt', async () => {
    const downstream = new ScriptedDownstream([{ hang: true }, { hang: true }, { answer: 'third', after: 99 }]);
    const policy = ResiliencePolicy.wrap(new RetryPolicy({ backoff: STEADY }), new TimeoutPolicy(100));
    const call = outcomeOf(policy.execute(downstream.call));
    await pass(318);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call).toEqual({ state: 'fulfilled', value: 'third' });
    expect(downstream.calls.map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'answered']);
  });

  it('outside a retry it is that of all attempts together', async () => {
    const downstream = new ScriptedDownstream([{ hang: true }]);
    const total = new TimeoutPolicy({ timeout: 150, name: 'total' });
    const each = new TimeoutPolicy({ timeout: 100, name: 'each' });
    const policy = ResiliencePolicy.wrap(total, new RetryPolicy({ backoff: STEADY }), each);
    const recorder = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(downstream.call));
    await pass(149);
    expect(call.state).toBe('pending');
    expect(downstream.calls.map(({ state }) => state)).toEqual(['cancelled', 'running']);

    await pass(1);
    expect(call.value).toMatchObject({ policy: 'total', timeoutMs: 150 });
    expect(downstream.calls[1]).toMatchObject({ state: 'cancelled', reason: call.value });
    expect(recorder.events.map(({ type, policy: name }) => [type, name])).toEqual([
      ['timeout', 'each'],
      ['retry', 'retry'],
      ['timeout', 'total'],
    ]);
  });

  it('outside a retry it ends a wait between attempts too', async () => {
    const downstream = new ScriptedDownstream([{ fail: 503 }]);
    const retry = new RetryPolicy({ backoff: { delay: 1_000, factor: 1 } });
    const call = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(100), retry).execute(downstream.call));
    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(vi.getTimerCount()).toBe(0);
    await pass(5_000);
    expect(downstream.calls).toHaveLength(1);
  });

  it('is one among several, of which the shortest holds', async () => {
    const [long, short] = [new TimeoutPolicy({ timeout: 200, name: 'long' }), new TimeoutPolicy(100)];
    for (const policy of [ResiliencePolicy.wrap(long, short), ResiliencePolicy.wrap(short, long)]) {
      const recorder = new EventRecorder(policy);
      const call = outcomeOf(policy.execute(new ManualWork().run));
      await pass(100);

      expect(call.value).toMatchObject({ timeoutMs: 100 });
      expect(vi.getTimerCount()).toBe(0);
      await pass(1_000);
      expect(recorder.of('timeout').map(({ timeoutMs }) => timeoutMs)).toEqual([100]);
    }
  });
});

describe('a limit that depends on the attempt', () => {
  it('is asked for before each attempt, with its number', async () => {
    const limit = vi.fn((attempt: number) => attempt * 100);
    const policy = ResiliencePolicy.wrap(new RetryPolicy({ backoff: STEADY }), new TimeoutPolicy(limit));
    const recorder = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(new ManualWork().run));
    await pass(99);
    expect(recorder.types).toEqual([]);
    await pass(1);
    expect(recorder.types).toEqual(['timeout', 'retry']);
    await pass(520);

    expect(limit.mock.calls).toEqual([[1], [2], [3]]);
    expect(recorder.of('timeout').map(({ timeoutMs }) => timeoutMs)).toEqual([100, 200, 300]);
    expect(call.value).toMatchObject({ timeoutMs: 300 });
  });

  it('may be a text with a unit', async () => {
    const policy = new TimeoutPolicy({ timeout: () => '1.5s', name: 'growing' });
    const call = outcomeOf(policy.execute(new ManualWork().run));
    await pass(1_500);

    expect(policy.timeout).toBeUndefined();
    expect(call.value).toMatchObject({ timeoutMs: 1_500, policy: 'growing' });
  });

  it.each([
    [0, '0'],
    [-1, '-1'],
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    ['soon', '"soon"'],
    [undefined, 'undefined'],
    [[5], 'an array'],
  ])('and is %s ends the call with a TypeError that names it, before any work, and once', async (returned, shown) => {
    const limit = vi.fn(() => returned as number);
    const work = vi.fn(() => 'answer');
    const policy = ResiliencePolicy.wrap(new RetryPolicy(3), new TimeoutPolicy(limit));
    const call = outcomeOf(policy.execute(work));
    await microtasks();

    expect(call.value).toBeInstanceOf(TypeError);
    expect((call.value as Error).message).toContain(`timeout: Invalid duration ${shown}`);
    expect(limit).toHaveBeenCalledTimes(1);
    expect(work).not.toHaveBeenCalled();
  });

  it('and is a promise ends the call with a TypeError, and the rejection of the promise goes unheard', async () => {
    const limit = (): number => Promise.reject(new Error('nobody waits')) as unknown as number;

    await expect(new TimeoutPolicy(limit).execute(() => 1)).rejects.toThrow(/^timeout returned a Promise/);
  });

  it('and throws ends the call with that error', async () => {
    const flaw = new RangeError('of the function');
    const limit = (): never => {
      throw flaw;
    };

    await expect(ResiliencePolicy.wrap(new RetryPolicy(3), new TimeoutPolicy(limit)).execute(() => 1)).rejects.toBe(
      flaw,
    );
  });
});

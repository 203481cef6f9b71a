import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf, type Outcome } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import {
  BulkheadFullError,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
} from '../index.js';
import { EventRecorder } from '../testing/index.js';

useFakeClock();

/** A bulkhead with one slot, which is taken until `free()`. */
function occupied(options: { maxQueue?: number; queueTimeout?: number } = {}) {
  const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 10, ...options });
  const work = new ManualWork();
  const occupant = outcomeOf(bulkhead.execute(work.run));

  return { bulkhead, work, occupant, free: () => work.call(0).answer() };
}

describe('a slot that comes when its call is over', () => {
  it('goes on at once, and the work does not run, though both ended in the same tick', async () => {
    const single = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1, holdUntilSettled: false });
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), single);
    const work = new ManualWork();
    const calls = [policy.execute(work.run), policy.execute(work.run)].map(outcomeOf);

    vi.advanceTimersByTime(100);
    await microtasks();

    expect(calls.map(({ value }) => value)).toEqual([
      expect.any(ResilienceTimeoutError),
      expect.any(ResilienceTimeoutError),
    ]);
    expect(work.calls).toHaveLength(1);
    expect(single).toMatchObject({ active: 0, queued: 0 });
  });
});

describe('a listener of a refusal', () => {
  it('that makes the caller leave ends the call: nothing around the bulkhead answers it any more', async () => {
    const { bulkhead } = occupied({ maxQueue: 0 });
    const handler = vi.fn(() => 'instead');
    const controller = new AbortController();
    bulkhead.subscribe(() => controller.abort('left'));

    const call = outcomeOf(
      ResiliencePolicy.wrap(new FallbackPolicy(handler), bulkhead).execute(() => 1, { signal: controller.signal }),
    );
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: 'left' });
    expect(handler).not.toHaveBeenCalled();
  });

  it('that makes the caller of a second attempt leave costs no slot of another call', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const controller = new AbortController();
    const policy = ResiliencePolicy.wrap(new RetryPolicy({ backoff: { delay: 10, factor: 1 } }), bulkhead);
    const down = (): Promise<never> => Promise.reject(new Error('down'));
    const call = outcomeOf(policy.execute(down, { signal: controller.signal }));
    await microtasks();
    void bulkhead.execute(new ManualWork().run);
    bulkhead.subscribe(() => controller.abort('left'));
    await pass(10);

    expect(call.value).toBe('left');
    expect(bulkhead.active).toBe(1);
  });
});

describe('the time after a wait in the queue', () => {
  it('is no wait of a fallback that answers a call whose wait was too long', async () => {
    const { bulkhead } = occupied({ queueTimeout: 10 });
    const breaker = new CircuitBreakerPolicy();
    const fallback = new FallbackPolicy(() => new Promise(() => {}));
    const call = outcomeOf(ResiliencePolicy.wrap(breaker, new TimeoutPolicy(100), fallback, bulkhead).execute(() => 1));
    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.stats).toMatchObject({ total: 1, failures: 1 });
  });

  it('is no wait of a second attempt, when the first was given up in the queue', async () => {
    const { bulkhead, free } = occupied();
    const breaker = new CircuitBreakerPolicy();
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 10, factor: 1 } });
    const call = outcomeOf(
      ResiliencePolicy.wrap(retry, breaker, new TimeoutPolicy(100), bulkhead).execute(() => new Promise(() => {})),
    );
    await pass(100);
    expect(breaker.stats.total).toBe(0);
    free();
    await pass(110);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.stats).toMatchObject({ total: 1, failures: 1 });
  });
});

describe('the queue of a bulkhead', () => {
  it('is served strictly in order, one call for each slot that is given back', async () => {
    const { bulkhead, work } = occupied();
    const started: string[] = [];
    const calls = ['a', 'b', 'c'].map((name) =>
      outcomeOf(bulkhead.execute((context) => (started.push(name), work.run(context)))),
    );
    expect(bulkhead).toMatchObject({ active: 1, queued: 3 });

    for (let served = 0; served <= 3; served++) {
      expect(started).toEqual(['a', 'b', 'c'].slice(0, served));
      expect(bulkhead).toMatchObject({ active: 1, queued: 3 - served });
      work.call(served).answer(served);
      await microtasks();
    }
    expect(calls.map((call) => call.value)).toEqual([1, 2, 3]);
    expect(bulkhead).toMatchObject({ active: 0, queued: 0 });
  });

  it('hands a slot to its head at once, so that a newcomer cannot overtake', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    let rejectNow: (error: unknown) => void = () => {};
    let newcomer: Outcome | undefined;
    const overtake = (): void => {
      newcomer = outcomeOf(bulkhead.execute(() => 'newcomer'));
    };
    // The moment when the slot is free but the head has not run yet: a continuation of the one who gave it back.
    const first = bulkhead.execute(() => new Promise((_, reject) => (rejectNow = reject))).catch(overtake);
    const started: string[] = [];
    const head = bulkhead.execute(() => started.push('head'));

    rejectNow(new Error('outage'));
    await Promise.all([first, head]);
    await microtasks();

    expect(started).toEqual(['head']);
    expect(newcomer?.state).toBe('fulfilled');
    expect(bulkhead).toMatchObject({ active: 0, queued: 0 });
  });

  it('refuses a call at once when it is as long as maxQueue', async () => {
    const { bulkhead, work, free } = occupied({ maxQueue: 2 });
    const recorder = new EventRecorder(bulkhead);
    const calls = [bulkhead.execute(work.run), bulkhead.execute(() => 2)];

    expect(await errorOf(bulkhead.execute(work.run))).toMatchObject({ reason: 'full' });

    expect(recorder.events).toEqual([
      { type: 'bulkhead-rejected', policy: 'bulkhead', source: undefined, reason: 'full', active: 1, queued: 2 },
    ]);
    free();
    await microtasks();
    work.call(1).answer(1);
    expect(await Promise.all(calls)).toEqual([1, 2]);
  });

  it('has room again for each call that leaves it', async () => {
    const { bulkhead, work, free } = occupied({ maxQueue: 1 });
    for (let turn = 0; turn < 3; turn++) {
      const controller = new AbortController();
      const waiting = outcomeOf(bulkhead.execute(work.run, { signal: controller.signal }));
      expect(await errorOf(bulkhead.execute(work.run))).toBeInstanceOf(BulkheadFullError);
      controller.abort();
      await microtasks();
      expect(waiting.state).toBe('rejected');
    }

    expect(bulkhead).toMatchObject({ active: 1, queued: 0 });
    free();
    await microtasks();
  });

  it('may hold ten thousand calls, all of which are served', async () => {
    const { bulkhead, free } = occupied({ maxQueue: Infinity });
    const order: number[] = [];
    const calls = Array.from({ length: 10_000 }, (_, index) => bulkhead.execute(() => order.push(index)));
    expect(bulkhead.queued).toBe(10_000);

    free();
    await Promise.all(calls);

    expect(order).toEqual(Array.from({ length: 10_000 }, (_, index) => index));
    expect(bulkhead).toMatchObject({ active: 0, queued: 0 });
  });
});

describe('a call in the queue', () => {
  it('is refused after exactly queueTimeout, and no longer counted when the event tells of it', async () => {
    const { bulkhead, work, free } = occupied({ queueTimeout: 100 });
    const recorder = new EventRecorder(bulkhead);
    const call = outcomeOf(bulkhead.execute(work.run, { source: 'late' }));
    const other = outcomeOf(bulkhead.execute(work.run, { source: 'later' }));

    await pass(99);
    expect(call.state).toBe('pending');
    await pass(1);

    expect(call.value).toBeInstanceOf(BulkheadFullError);
    expect(call.value).toMatchObject({
      reason: 'queue-timeout',
      message: 'Timed out waiting for a slot in bulkhead "bulkhead"',
      retryAfterMs: undefined,
    });
    const told = { type: 'bulkhead-rejected', policy: 'bulkhead', reason: 'queue-timeout', active: 1 };
    expect(recorder.events).toEqual([
      { ...told, source: 'late', queued: 1 },
      { ...told, source: 'later', queued: 0 },
    ]);
    expect(other.state).toBe('rejected');
    free();
    await microtasks();
    expect(bulkhead.active).toBe(0);
    expect(work.calls).toHaveLength(1);
  });

  it('may be refused on the next macrotask when queueTimeout is 0', async () => {
    const { bulkhead, work, free } = occupied({ queueTimeout: 0 });
    const call = outcomeOf(bulkhead.execute(work.run));
    await microtasks();
    expect(call.state).toBe('pending');

    await pass(0);

    expect(call.value).toMatchObject({ reason: 'queue-timeout' });
    free();
    await microtasks();
  });

  it('waits for a queueTimeout of thirty days, and not a moment less', async () => {
    const { bulkhead, work, free } = occupied({ queueTimeout: 30 * 86_400_000 });
    const call = outcomeOf(bulkhead.execute(work.run));

    await pass(30 * 86_400_000 - 1);
    expect(call.state).toBe('pending');
    await pass(1);
    expect(call.state).toBe('rejected');
    free();
    await microtasks();
  });

  it('has no timer and no listener left once it has its slot', async () => {
    const { bulkhead, work, free } = occupied({ queueTimeout: 100 });
    const controller = new WatchedController();
    const call = outcomeOf(bulkhead.execute(work.run, { signal: controller.signal }));
    expect(vi.getTimerCount()).toBe(1);

    free();
    await microtasks();
    expect(vi.getTimerCount()).toBe(0);
    await pass(1_000);
    expect(call.state).toBe('pending');

    work.call(1).answer('late but fine');
    await microtasks();
    expect(call.value).toBe('late but fine');
    expect(controller.listeners).toBe(0);
  });

  it('leaves at once when its caller aborts, without a run, and the others keep their order', async () => {
    const { bulkhead, work, free } = occupied({ queueTimeout: 100 });
    const reason = new Error('left');
    const controller = new WatchedController();
    const started: string[] = [];
    const enter = (name: string, signal?: AbortSignal): Outcome =>
      outcomeOf(bulkhead.execute(() => started.push(name), { signal }));
    const [a, b, c] = [enter('a'), enter('b', controller.signal), enter('c')];

    controller.abort(reason);
    expect(bulkhead.queued).toBe(2);
    await microtasks();
    expect(b.value).toBe(reason);
    expect(controller.listeners).toBe(0);
    expect(vi.getTimerCount()).toBe(2);

    free();
    await microtasks();
    expect(started).toEqual(['a', 'c']);
    expect([a.state, c.state]).toEqual(['fulfilled', 'fulfilled']);
    expect(work.calls).toHaveLength(1);
    expect(bulkhead).toMatchObject({ active: 0, queued: 0 });
  });

  it('whose abort meets its grant runs nothing and passes the slot on', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 2, queueTimeout: 100 });
    const controller = new WatchedController();
    const work = new ManualWork();
    let end = (): void => {};
    const ends = new Promise<void>((resolve) => (end = resolve));
    const occupant = outcomeOf(bulkhead.execute(() => ends));
    const head = outcomeOf(bulkhead.execute(work.run, { signal: controller.signal }));
    const second = outcomeOf(bulkhead.execute(() => 'second'));
    // Heard right after the bulkhead has heard of it: the slot is the head's by then, but its work has not begun.
    void ends.then(() => {
      expect(bulkhead).toMatchObject({ active: 1, queued: 1 });
      controller.abort('left');
    });

    end();
    await microtasks();

    expect(occupant.state).toBe('fulfilled');
    expect(head.value).toBe('left');
    expect(second.value).toBe('second');
    expect(work.calls).toEqual([]);
    expect(bulkhead).toMatchObject({ active: 0, queued: 0 });
    expect(controller.listeners).toBe(0);
  });

  it('is served, not refused, when its slot comes in the last moment of queueTimeout', async () => {
    const { bulkhead, free } = occupied({ queueTimeout: 100 });
    const call = outcomeOf(bulkhead.execute(() => 'served'));
    await pass(99);

    free();
    await microtasks();
    await pass(1);

    expect(call.value).toBe('served');
  });

  it('spends the budget of a timeout around the bulkhead, and leaves the queue with it', async () => {
    const { bulkhead, work, free } = occupied();
    const call = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(100), bulkhead).execute(work.run));

    await pass(99);
    expect(bulkhead).toMatchObject({ active: 1, queued: 1 });
    await pass(1);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(bulkhead).toMatchObject({ active: 1, queued: 0 });
    free();
    await microtasks();
    expect(work.calls).toHaveLength(1);
    expect(bulkhead.active).toBe(0);
  });

  it('is given up by a listener of its own refusal without being refused twice', async () => {
    const { bulkhead, work, free } = occupied({ queueTimeout: 100 });
    const controller = new WatchedController();
    bulkhead.subscribe(() => controller.abort('by listener'));
    const call = outcomeOf(bulkhead.execute(work.run, { signal: controller.signal }));

    await pass(100);

    expect(call.value).toBe('by listener');
    expect(bulkhead).toMatchObject({ active: 1, queued: 0 });
    free();
    await microtasks();
    expect(bulkhead.active).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import {
  BulkheadFullError,
  BulkheadPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
} from '../index.js';
import { EventRecorder } from '../testing/index.js';

useFakeClock();

describe('the slot of a call whose attempts were given up one by one', () => {
  it.each([true, false])('is given back once, however their work ends: held until settled %j', async (holds) => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, holdUntilSettled: holds });
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 0, factor: 1 } });
    const work = new ManualWork();
    const call = outcomeOf(ResiliencePolicy.wrap(bulkhead, retry, new TimeoutPolicy(100)).execute(work.run));
    await pass(150);
    expect(work.calls).toHaveLength(2);
    work.call(0).answer('too late');
    await microtasks();
    expect(bulkhead).toMatchObject({ active: 1, abandoned: 0 });

    work.call(1).answer('in time');
    await microtasks();

    expect(call).toEqual({ state: 'fulfilled', value: 'in time' });
    expect(bulkhead).toMatchObject({ active: 0, abandoned: 0 });
  });
});

describe('the slot of a call that was given up, with execute()', () => {
  it('stays taken although the call had waited for it', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    const [first, work] = [new ManualWork(), new ManualWork()];
    void bulkhead.execute(first.run);
    const waiting = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(100), bulkhead).execute(work.run));
    first.call(0).answer();
    await pass(100);
    expect(waiting.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(bulkhead.active).toBe(1);

    work.call(0).answer();
    await microtasks();

    expect(bulkhead.active).toBe(0);
  });

  it('stays taken until the work has ended', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const recorder = new EventRecorder(bulkhead);
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), bulkhead);
    const work = new ManualWork();
    const call = outcomeOf(policy.execute(work.run));
    await pass(100);
    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(bulkhead).toMatchObject({ active: 1, abandoned: 0 });
    expect(await errorOf(policy.execute(work.run))).toBeInstanceOf(BulkheadFullError);

    work.call(0).answer();
    await microtasks();

    expect(bulkhead.active).toBe(0);
    expect(recorder.types).toEqual(['bulkhead-rejected']);
  });

  it('goes to the head of the queue when the work has ended, however it ends', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 5 });
    const work = new ManualWork();
    const controller = new AbortController();
    const given = outcomeOf(bulkhead.execute(work.run, { signal: controller.signal }));
    const next = outcomeOf(bulkhead.execute(() => 'next'));
    controller.abort('left');
    await microtasks();
    expect(given.value).toBe('left');
    expect(next.state).toBe('pending');

    work.call(0).fail(new Error('too late'));
    await microtasks();

    expect(next.value).toBe('next');
    expect(bulkhead.active).toBe(0);
  });

  it('is free as soon as work that honours its signal has ended', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const controller = new AbortController();
    const call = outcomeOf(
      bulkhead.execute(
        ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        { signal: controller.signal },
      ),
    );

    controller.abort('left');
    await microtasks();

    expect(call.value).toBe('left');
    expect(bulkhead.active).toBe(0);
  });

  it('never lets more bodies run than the limit says, timeouts or not', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(20), bulkhead);
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 100));
      running -= 1;
    };
    for (let call = 0; call < 10; call++) {
      outcomeOf(policy.execute(work));
      await pass(25);
    }
    await pass(100);

    expect(most).toBe(1);
    expect(bulkhead.active).toBe(0);
  });

  it('never lets more bodies run than the limit says, when each call retries inside the bulkhead', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 10, factor: 1 } });
    const policy = ResiliencePolicy.wrap(bulkhead, retry, new TimeoutPolicy(20));
    const work = new ManualWork();
    const call = outcomeOf(policy.execute(work.run));
    await pass(30);
    expect(work.calls).toHaveLength(2);

    work.call(1).answer('second');
    await microtasks();
    expect(call.value).toBe('second');
    expect(bulkhead.active).toBe(1);

    work.call(0).answer('late');
    await microtasks();
    expect(bulkhead.active).toBe(0);
  });

  it('is held while any of its abandoned attempts runs on', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const retry = new RetryPolicy({ attempts: 3, backoff: { delay: 10, factor: 1 } });
    const work = new ManualWork();
    const call = outcomeOf(ResiliencePolicy.wrap(bulkhead, retry, new TimeoutPolicy(20)).execute(work.run));
    await pass(80);
    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);

    for (const index of [1, 0, 2]) {
      expect(bulkhead.active).toBe(1);
      work.call(index).answer();
      await microtasks();
    }
    expect(bulkhead.active).toBe(0);
  });

  it('is given back once when work aborts its own call and then returns', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 2 });
    const controller = new AbortController();
    const work = (): string => {
      controller.abort('own');
      expect(bulkhead.active).toBe(1);
      return 'too late';
    };

    expect(await errorOf(bulkhead.execute(work, { signal: controller.signal }))).toBe('own');

    expect(bulkhead.active).toBe(0);
  });
});

describe('with holdUntilSettled: false', () => {
  it('is free at the limit, and the work that runs on is counted', async () => {
    const bulkhead = new BulkheadPolicy({ name: 'export', maxConcurrent: 1, holdUntilSettled: false });
    const recorder = new EventRecorder(bulkhead);
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), bulkhead);
    const work = new ManualWork();
    outcomeOf(policy.execute(work.run, { source: 'first' }));
    await pass(100);
    expect(bulkhead).toMatchObject({ active: 0, abandoned: 1 });
    outcomeOf(policy.execute(work.run, { source: 'second' }));
    await pass(100);
    expect(bulkhead).toMatchObject({ active: 0, abandoned: 2 });
    expect(recorder.events).toStrictEqual([
      { type: 'abandoned', policy: 'export', source: 'first', abandoned: 1 },
      { type: 'abandoned', policy: 'export', source: 'second', abandoned: 2 },
    ]);

    work.call(1).answer();
    await microtasks();
    expect(bulkhead.abandoned).toBe(1);
    work.call(0).fail(new Error('late'));
    await microtasks();
    expect(bulkhead).toMatchObject({ active: 0, abandoned: 0 });
  });

  it('goes to the head of the queue at the limit', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1, holdUntilSettled: false });
    const controller = new AbortController();
    const work = new ManualWork();
    outcomeOf(bulkhead.execute(work.run, { signal: controller.signal }));
    const next = outcomeOf(bulkhead.execute(() => 'next'));

    controller.abort();
    await microtasks();

    expect(next.value).toBe('next');
    expect(bulkhead).toMatchObject({ active: 0, abandoned: 1 });
    work.call(0).answer();
    await microtasks();
    expect(bulkhead.abandoned).toBe(0);
  });

  it('counts a call with several abandoned attempts once, until the last of them has ended', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, holdUntilSettled: false });
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 10, factor: 1 } });
    const work = new ManualWork();
    outcomeOf(ResiliencePolicy.wrap(bulkhead, retry, new TimeoutPolicy(20)).execute(work.run));
    await pass(50);
    expect(bulkhead).toMatchObject({ active: 0, abandoned: 1 });

    work.call(1).answer();
    await microtasks();
    expect(bulkhead.abandoned).toBe(1);
    work.call(0).answer();
    await microtasks();
    expect(bulkhead.abandoned).toBe(0);
  });

  it('counts nothing for work that settles in time or leaves the queue', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1, holdUntilSettled: false });
    const recorder = new EventRecorder(bulkhead);
    const work = new ManualWork();
    const occupant = bulkhead.execute(work.run);
    const controller = new AbortController();
    outcomeOf(bulkhead.execute(work.run, { signal: controller.signal }));
    controller.abort();
    work.call(0).answer();
    await occupant;

    expect(bulkhead).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
    expect(recorder.events).toEqual([]);
  });
});

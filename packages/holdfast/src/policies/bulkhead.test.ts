import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import {
  BulkheadFullError,
  BulkheadPolicy,
  createPolicy,
  FallbackPolicy,
  ResiliencePolicy,
  RetryPolicy,
  type BulkheadOptions,
} from '../index.js';
import { EventRecorder } from '../testing/index.js';

useFakeClock();

const outage = new Error('outage');

describe('a bulkhead', () => {
  it('has the documented defaults', () => {
    const bulkhead = new BulkheadPolicy();

    expect(bulkhead).toMatchObject({
      name: 'bulkhead',
      maxConcurrent: 10,
      maxQueue: 0,
      active: 0,
      queued: 0,
      abandoned: 0,
    });
    expect(bulkhead.queueTimeout).toBeUndefined();
  });

  it('shows its queueTimeout in milliseconds', () => {
    expect(new BulkheadPolicy({ queueTimeout: '10s' }).queueTimeout).toBe(10_000);
  });

  it('lets exactly maxConcurrent calls run and refuses the next one at once', async () => {
    const bulkhead = new BulkheadPolicy({ name: 'export', maxConcurrent: 2 });
    const recorder = new EventRecorder(bulkhead);
    const work = new ManualWork();
    const calls = [bulkhead.execute(work.run), bulkhead.execute(work.run)];
    expect(bulkhead.active).toBe(2);

    const error = await errorOf(bulkhead.execute(work.run, { source: 'third' }));

    expect(error).toBeInstanceOf(BulkheadFullError);
    expect(error).toMatchObject({
      code: 'BULKHEAD_FULL',
      policy: 'export',
      reason: 'full',
      message: 'Bulkhead "export" is full',
    });
    expect((error as BulkheadFullError).retryAfterMs).toBeUndefined();
    expect(recorder.events).toStrictEqual([
      { type: 'bulkhead-rejected', policy: 'export', source: 'third', reason: 'full', active: 2, queued: 0 },
    ]);
    expect(work.calls).toHaveLength(2);

    for (const call of work.calls) call.answer();
    await Promise.all(calls);
    expect(bulkhead.active).toBe(0);
  });

  it('refuses without a timer and without a captured stack', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, queueTimeout: 100 });
    const work = new ManualWork();
    const occupant = bulkhead.execute(work.run);

    const error = (await errorOf(bulkhead.execute(work.run))) as Error;

    expect(error.stack ?? '').not.toContain('\n    at ');
    expect(vi.getTimerCount()).toBe(0);
    work.call(0).answer();
    await occupant;
  });

  it.each<[string, () => unknown]>([
    ['an answer', () => 1],
    ['a promise', () => Promise.resolve(1)],
    ['a rejection', () => Promise.reject(outage)],
    [
      'a synchronous throw',
      () => {
        throw outage;
      },
    ],
    [
      'a thenable that calls back twice',
      () => ({
        // oxlint-disable-next-line unicorn/no-thenable -- such thenables are the subject
        then(resolve: (value: number) => void, reject: (error: unknown) => void) {
          resolve(1);
          resolve(2);
          reject(outage);
        },
      }),
    ],
  ])('gives a slot back once, after %s', async (_what, work) => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });

    for (let call = 0; call < 3; call++) {
      await bulkhead.execute(work).catch(() => {});
      expect(bulkhead.active).toBe(0);
    }
  });

  it('never gives a slot to a call whose signal had aborted before', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    const work = new ManualWork();

    expect(await errorOf(bulkhead.execute(work.run, { signal: AbortSignal.abort('gone') }))).toBe('gone');

    expect(bulkhead).toMatchObject({ active: 0, queued: 0 });
    expect(work.calls).toEqual([]);
  });

  it('only counts when maxConcurrent is Infinity', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: Infinity });
    const work = new ManualWork();
    const calls = Array.from({ length: 500 }, () => bulkhead.execute(work.run));
    expect(bulkhead).toMatchObject({ active: 500, queued: 0 });

    for (const call of work.calls) call.answer();
    await Promise.all(calls);

    expect(bulkhead.active).toBe(0);
  });

  it('shares its slots between all compositions that it is part of', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const work = new ManualWork();
    const first = ResiliencePolicy.wrap(bulkhead).execute(work.run);

    expect(await errorOf(ResiliencePolicy.wrap(bulkhead).execute(work.run))).toBeInstanceOf(BulkheadFullError);

    work.call(0).answer();
    await first;
  });

  it('is independent of another one made from the same frozen options', async () => {
    const options = Object.freeze({ maxConcurrent: 1 });
    const [one, other] = [new BulkheadPolicy(options), new BulkheadPolicy(options)];
    const work = new ManualWork();
    const calls = [one.execute(work.run), other.execute(work.run)];
    expect([one.active, other.active]).toEqual([1, 1]);

    for (const call of work.calls) call.answer();
    await Promise.all(calls);
  });

  it('has its refusal answered by a fallback, and never repeated by a retry', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const work = new ManualWork();
    const occupant = bulkhead.execute(work.run);
    const policy = ResiliencePolicy.wrap(new FallbackPolicy(() => 'flat'), new RetryPolicy(5), bulkhead);
    const recorder = new EventRecorder(policy);

    expect(await policy.execute(work.run)).toBe('flat');

    expect(recorder.types).toEqual(['bulkhead-rejected', 'fallback']);
    work.call(0).answer();
    await occupant;
  });
});

describe('a bulkhead inside a retry', () => {
  it('gives each attempt a slot of its own and holds none between them', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const retry = new RetryPolicy({ attempts: 3, backoff: { delay: 100, factor: 1 } });
    const active: number[] = [];
    const call = outcomeOf(
      ResiliencePolicy.wrap(retry, bulkhead).execute(() => {
        active.push(bulkhead.active);
        return Promise.reject(outage);
      }),
    );

    await microtasks();
    expect(bulkhead.active).toBe(0);
    await pass(100);
    expect(bulkhead.active).toBe(0);
    await pass(100);

    expect(call.value).toBe(outage);
    expect(active).toEqual([1, 1, 1]);
    expect(bulkhead.active).toBe(0);
  });

  it('has nothing to give back for a call that is aborted between attempts', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 2 });
    const work = new ManualWork();
    const occupant = bulkhead.execute(work.run);
    const controller = new WatchedController();
    const policy = ResiliencePolicy.wrap(new RetryPolicy({ backoff: { delay: 100, factor: 1 } }), bulkhead);
    const call = outcomeOf(policy.execute(() => Promise.reject(outage), { signal: controller.signal }));
    await pass(50);
    expect(bulkhead.active).toBe(1);

    controller.abort('left');
    await microtasks();

    expect(call.value).toBe('left');
    expect(bulkhead.active).toBe(1);
    expect(controller.listeners).toBe(0);
    work.call(0).answer();
    await occupant;
    expect(bulkhead.active).toBe(0);
  });
});

describe('the options of a bulkhead', () => {
  it.each<[string, BulkheadOptions]>([
    ['as many slots as can be counted', { maxConcurrent: Number.MAX_SAFE_INTEGER }],
    ['no limit', { maxConcurrent: Infinity }],
    ['a queue without end', { maxQueue: Infinity }],
    ['a queue as long as can be counted', { maxQueue: Number.MAX_SAFE_INTEGER }],
    ['no queue', { maxQueue: 0 }],
    ['a queueTimeout of 0', { queueTimeout: 0 }],
    ['a queueTimeout above the longest timer', { queueTimeout: '30d' }],
    ['either kind of slot', { holdUntilSettled: false }],
    [
      'undefined',
      {
        name: undefined,
        maxConcurrent: undefined,
        maxQueue: undefined,
        queueTimeout: undefined,
        holdUntilSettled: undefined,
      },
    ],
  ])('may be %s', async (_what, options) => {
    expect(await new BulkheadPolicy(options).execute(() => 1)).toBe(1);
  });

  it.each<[string, unknown]>([
    ...[0, -1, 1.5, NaN, -Infinity, '2', null, true, {}].map((value): [string, unknown] => ['maxConcurrent', value]),
    ...[-1, 0.5, NaN, -Infinity, '2', null, true, {}].map((value): [string, unknown] => ['maxQueue', value]),
    ...[-1, NaN, Infinity, '5', '-1s', '1 s', null, true, {}].map((value): [string, unknown] => [
      'queueTimeout',
      value,
    ]),
    ...[0, 1, 'false', null].map((value): [string, unknown] => ['holdUntilSettled', value]),
    ...['', 5, null].map((value): [string, unknown] => ['name', value]),
  ])('are refused when %s is %j', (option, value) => {
    expect(() => new BulkheadPolicy({ [option]: value })).toThrow(TypeError);
    expect(() => new BulkheadPolicy({ [option]: value })).toThrow(new RegExp(`^${option}: `));
    expect(() => createPolicy({ bulkhead: { [option]: value } as BulkheadOptions })).toThrow(
      new RegExp(`^bulkhead.${option}: `),
    );
  });

  it('are refused when one is misspelt, with the name that was meant', () => {
    expect(() => new BulkheadPolicy({ maxConcurent: 2 } as BulkheadOptions)).toThrow(
      /^maxConcurent: .*"maxConcurrent"/,
    );
    expect(() => new BulkheadPolicy(2 as BulkheadOptions)).toThrow(TypeError);
  });
});

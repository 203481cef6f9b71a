import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, vi, type MockInstance } from 'vitest';
import { ManualWork } from '../test/manual-work.js';
import { microtasks, outcomeOf } from '../test/outcome.js';
import { WatchedController } from '../test/watched-signal.js';
import { ResilienceTimeoutError } from './errors.js';
import type { ExecuteOptions } from './execution.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { FallbackPolicy } from './policies/fallback.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy } from './policy.js';
import { currentScope } from './scope.js';
import type { AttemptContext } from './scope.js';

/** For what takes as long as a busy machine needs. */
const PATIENCE = { timeout: 4_000 };
const down = new Error('down');
const reason = new Error('the caller left');

/** Whether each attempt of a call was ambient. */
async function ambience(policy: ResiliencePolicy, options?: ExecuteOptions): Promise<boolean[]> {
  const seen: boolean[] = [];
  const work = (context: AttemptContext): Promise<never> => {
    seen.push(currentScope() === context);
    return Promise.reject(down);
  };
  await policy.execute(work, options).catch(() => {});

  return seen;
}

describe('an attempt is ambient', () => {
  it('when it has a limit', async () => {
    expect(await ambience(new TimeoutPolicy(1_000))).toEqual([true]);
    expect(await ambience(ResiliencePolicy.wrap(new BulkheadPolicy(), new TimeoutPolicy(1_000)))).toEqual([true]);
  });

  it('when it has a signal', async () => {
    expect(await ambience(new BulkheadPolicy(), { signal: new AbortController().signal })).toEqual([true]);
  });

  it('when it has an outer attempt', async () => {
    let seen: boolean[] = [];
    await new TimeoutPolicy(1_000).execute(async () => {
      seen = await ambience(new BulkheadPolicy());
    });

    expect(seen).toEqual([true]);
  });

  it('when it is not the first', async () => {
    expect(await ambience(new RetryPolicy({ backoff: { delay: 0 } }))).toEqual([false, true, true]);
  });

  it('in no other case', async () => {
    expect(await ambience(new BulkheadPolicy())).toEqual([false]);
    expect(await ambience(new RetryPolicy(1))).toEqual([false]);
    expect(await ambience(ResiliencePolicy.wrap())).toEqual([false]);
  });

  it('never, when that is not wanted', async () => {
    const retry = new RetryPolicy({ backoff: { delay: 0 } });
    const policy = ResiliencePolicy.wrap(retry, new TimeoutPolicy(1_000));

    expect(await ambience(policy, { ambient: false, signal: new AbortController().signal })).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('through awaits, timers and policies without one of their own', async () => {
    const seen: boolean[] = [];
    await new TimeoutPolicy(1_000).execute(async (context) => {
      await wait(1);
      seen.push(currentScope() === context);
      await new BulkheadPolicy().execute(
        async () => {
          await wait(1);
          seen.push(currentScope() === context);
        },
        { ambient: false },
      );
      seen.push(currentScope() === context);
    });

    expect(seen).toEqual([true, true, true]);
    expect(currentScope()).toBeUndefined();
  });
});

describe('a policy inside an attempt', () => {
  it('is given up with it, by the same error, even without a limit of its own', async () => {
    const work = new ManualWork();
    let inside: Promise<unknown> | undefined;
    const outside = outcomeOf(new TimeoutPolicy(20).execute(() => (inside = new BulkheadPolicy().execute(work.run))));
    await expect(inside).rejects.toBeInstanceOf(ResilienceTimeoutError);
    await microtasks();

    await expect(inside).rejects.toBe(outside.value);
    expect(work.call(0).context.signal.reason).toBe(outside.value);
  });

  it('stops its retries when the attempt around it is given up', async () => {
    let calls = 0;
    const inner = new RetryPolicy({ attempts: Infinity, backoff: { delay: 1, factor: 1 } });
    const work = (): Promise<unknown> => inner.execute(() => Promise.reject((calls++, down)));

    await expect(new TimeoutPolicy(30).execute(work)).rejects.toBeInstanceOf(ResilienceTimeoutError);
    const then = calls;
    await wait(20);
    expect(then).toBeGreaterThan(1);
    expect(calls).toBe(then);
  });

  it('does not inherit the number of the attempt or the source', async () => {
    const numbers: number[] = [];
    const sources: unknown[] = [];
    const inner = new RetryPolicy({ attempts: 2, backoff: { delay: 0 } });
    inner.subscribe((event) => sources.push('source' in event ? event.source : 'none'));
    const outer = new RetryPolicy({ attempts: 2, backoff: { delay: 0 } });
    const work = ({ attempt }: AttemptContext): Promise<never> => {
      numbers.push(attempt);
      return Promise.reject(down);
    };
    await outer.execute(() => inner.execute(work), { source: 'Job.run' }).catch(() => {});

    expect(numbers).toEqual([1, 2, 1, 2]);
    expect(sources).toEqual([undefined, undefined]);
  });

  it('joins a signal of its own: the attempt around it still gives it up', async () => {
    const own = new WatchedController();
    let inside: Promise<unknown> | undefined;
    const outside = outcomeOf(
      new TimeoutPolicy(20).execute(
        () => (inside = new BulkheadPolicy().execute(new ManualWork().run, { signal: own.signal })),
      ),
    );
    await expect(inside).rejects.toBeInstanceOf(ResilienceTimeoutError);
    await microtasks();

    await expect(inside).rejects.toBe(outside.value);
    expect(own.listeners).toBe(0);
  });

  it.each([{}, { detached: undefined }, { detached: false }])(
    'is given up with it unless detached: %j',
    async (options) => {
      const around = new WatchedController();
      let inside: Promise<unknown> | undefined;
      const work = (): Promise<unknown> => (inside = new BulkheadPolicy().execute(new ManualWork().run, options));
      outcomeOf(new BulkheadPolicy().execute(work, { signal: around.signal }));
      around.abort(reason);

      await expect(inside).rejects.toBe(reason);
    },
  );

  it('joins a signal of its own: the first to abort gives the reason', async () => {
    const [own, around] = [new WatchedController(), new WatchedController()];
    let inside: Promise<unknown> | undefined;
    const outside = outcomeOf(
      new BulkheadPolicy().execute(
        () => (inside = new BulkheadPolicy().execute(new ManualWork().run, { signal: own.signal })),
        { signal: around.signal },
      ),
    );
    own.abort(reason);
    around.abort(new Error('too late'));
    await microtasks();

    await expect(inside).rejects.toBe(reason);
    expect((outside.value as Error).message).toBe('too late');
    expect([own.listeners, around.listeners]).toEqual([0, 0]);
  });

  it('puts no listener on the signal of the attempt when it is given that, and is given up with it', async () => {
    const work = new ManualWork();
    const caller = new AbortController();
    let listen: MockInstance | undefined;
    const call = new BulkheadPolicy().execute(
      ({ signal }) => {
        listen = vi.spyOn(signal, 'addEventListener');
        return new BulkheadPolicy().execute(work.run, { signal });
      },
      { signal: caller.signal },
    );
    const failure = outcomeOf(call);
    caller.abort(reason);
    await microtasks();

    expect(failure.value).toBe(reason);
    expect(listen).not.toHaveBeenCalled();
    expect(work.call(0).context.signal.reason).toBe(reason);
  });

  it('that is detached follows the signal of the attempt when it is given that', async () => {
    const work = new ManualWork();
    const caller = new AbortController();
    const call = new BulkheadPolicy().execute(
      ({ signal }) => new BulkheadPolicy().execute(work.run, { signal, detached: true }),
      { signal: caller.signal },
    );
    const failure = outcomeOf(call);
    caller.abort(reason);
    await microtasks();

    expect([failure.value, work.call(0).context.signal.reason]).toEqual([reason, reason]);
  });

  it('that is detached outlives the attempt, and its own signal still counts', async () => {
    const own = new WatchedController();
    const work = new ManualWork();
    let inside: Promise<unknown> | undefined;
    const outside = outcomeOf(
      new TimeoutPolicy(20).execute(
        () => (inside = new BulkheadPolicy().execute(work.run, { detached: true, signal: own.signal })),
      ),
    );
    const detached = outcomeOf(inside as Promise<unknown>);
    await expect.poll(() => outside.state, PATIENCE).toBe('rejected');
    expect(detached.state).toBe('pending');
    expect(work.call(0).context.signal.aborted).toBe(false);

    own.abort(reason);
    await microtasks();
    expect(detached.value).toBe(reason);
  });

  it('that is detached cuts the link for all that is inside of it too', async () => {
    const work = new ManualWork();
    const inner = new BulkheadPolicy();
    const outside = outcomeOf(
      new TimeoutPolicy(20).execute(() =>
        new BulkheadPolicy().execute(() => inner.execute(work.run), { detached: true }),
      ),
    );
    await expect.poll(() => outside.state, PATIENCE).toBe('rejected');

    expect(work.call(0).context.signal.aborted).toBe(false);
    expect(inner.active).toBe(1);
    work.call(0).answer();
  });

  it('that was not waited for is cut off from an attempt that has settled', async () => {
    const controller = new WatchedController();
    const work = new ManualWork();
    let inside: Promise<unknown> | undefined;
    await new BulkheadPolicy().execute(
      () => {
        inside = new BulkheadPolicy().execute(work.run);
        return 'done';
      },
      { signal: controller.signal },
    );
    controller.abort(reason);
    await microtasks();

    expect(work.call(0).context.signal.aborted).toBe(false);
    work.call(0).answer('later');
    await expect(inside).resolves.toBe('later');
  });
});

describe('an attempt is no longer ambient', () => {
  it('once its work has settled, for code that was started in it', async () => {
    let later: Promise<unknown> | undefined;
    await new TimeoutPolicy(1_000).execute(() => {
      later = wait(5).then(() => currentScope());
    });

    await expect(later).resolves.toBeUndefined();
  });

  it('once it was given up, for work that does not heed its signal', async () => {
    const gate = new ManualWork();
    let later: Promise<unknown> | undefined;
    const call = new TimeoutPolicy(10).execute((context) => {
      later = gate.run(context).then(() => [currentScope(), context.signal.aborted]);
      return later;
    });

    await expect(call).rejects.toBeInstanceOf(ResilienceTimeoutError);
    gate.call(0).answer();
    await expect(later).resolves.toEqual([undefined, true]);
  });

  it('and policies that are used there afterwards run free', async () => {
    const gate = new ManualWork();
    let later: Promise<unknown> | undefined;
    const call = new TimeoutPolicy(10).execute((context) => {
      later = gate.run(context).then(() => new BulkheadPolicy().execute(() => 'on a pooled connection'));
      return later;
    });

    await expect(call).rejects.toBeInstanceOf(ResilienceTimeoutError);
    gate.call(0).answer();
    await expect(later).resolves.toBe('on a pooled connection');
  });

  it('and the nearest one around it that has not ended is', async () => {
    const seen: unknown[] = [];
    await new TimeoutPolicy(1_000).execute(async (outer) => {
      let later: Promise<unknown> | undefined;
      await new TimeoutPolicy(1_000).execute(async (middle) => {
        await new TimeoutPolicy(1_000).execute(() => {
          later = wait(5).then(() => seen.push(currentScope() === middle));
        });
        await later;
        later = wait(5).then(() => seen.push(currentScope() === outer));
      });
      await later;
    });

    expect(seen).toEqual([true, true]);
  });
});

describe('the handler of a fallback', () => {
  it.each<[string, () => Promise<never>]>([
    ['fails', () => Promise.reject(down)],
    ['is cut by its limit', () => new Promise(() => {})],
  ])('runs outside of the attempt that it answers for, when that %s', async (_how, work) => {
    const seen: unknown[] = [];
    const inner = new BulkheadPolicy();
    const handler = async (): Promise<string> => {
      seen.push(currentScope());
      await wait(1);
      seen.push(currentScope());
      return await inner.execute(() => 'answer');
    };
    const policy = ResiliencePolicy.wrap(new FallbackPolicy(handler), new TimeoutPolicy(10));
    const { signal } = new AbortController();
    await expect(policy.execute(work, { signal })).resolves.toBe('answer');
    expect(seen).toEqual([undefined, undefined]);

    await new TimeoutPolicy('10s').execute(async (outer) => {
      await policy.execute(work);
      expect(seen.slice(2)).toEqual([outer, outer]);
    });
  });
});

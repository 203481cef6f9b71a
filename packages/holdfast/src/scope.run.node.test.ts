import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { ManualWork } from '../test/manual-work.js';
import { microtasks, outcomeOf } from '../test/outcome.js';
import { WatchedController } from '../test/watched-signal.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { currentScope, runInScope, type Scope } from './scope.js';

const reason = new Error('the caller left');
const policy = new BulkheadPolicy({ maxConcurrent: Infinity });

/** Runs work inside an attempt that ends when the test says so, or when its signal aborts. */
function inAttempt<T>(work: () => T): { result: T; controller: WatchedController; settle: () => Promise<void> } {
  const controller = new WatchedController();
  let result: T | undefined;
  let end: (() => void) | undefined;
  const call = outcomeOf(
    policy.execute(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
          result = work();
        }),
      { signal: controller.signal },
    ),
  );
  const settle = async (): Promise<void> => {
    end?.();
    await microtasks();
    expect(call.state).toBe('fulfilled');
  };

  return { result: result as T, controller, settle };
}

describe('a scope opened by hand', () => {
  it('lends its signal and its number, 1 by default, to the code inside', () => {
    const { signal } = new AbortController();
    const look = (): unknown => [currentScope()?.signal, currentScope()?.attempt];

    expect(runInScope({ signal }, look)).toEqual([signal, 1]);
    expect(runInScope({ signal, attempt: 4 }, look)).toEqual([signal, 4]);
    expect(currentScope()).toBeUndefined();
  });

  it('returns what the function returns and throws what it throws', async () => {
    const { signal } = new AbortController();
    const promise = Promise.resolve('later');

    expect(runInScope({ signal }, () => 'now')).toBe('now');
    expect(runInScope({ signal }, () => promise)).toBe(promise);
    expect(() =>
      runInScope({ signal }, () => {
        throw reason;
      }),
    ).toThrow(reason);
    await expect(runInScope({ signal }, () => Promise.reject(reason))).rejects.toBe(reason);
  });

  it('gives up what was started inside when its signal aborts', async () => {
    const controller = new WatchedController();
    const work = new ManualWork();
    const call = outcomeOf(runInScope({ signal: controller.signal }, () => policy.execute(work.run)));
    controller.abort(reason);
    await microtasks();

    expect(call.value).toBe(reason);
    expect(work.call(0).context.signal.reason).toBe(reason);
    expect(controller.listeners).toBe(0);
  });

  it('never ends: work that is scheduled inside keeps the signal', async () => {
    const controller = new WatchedController();
    const later = runInScope({ signal: controller.signal }, () => ({
      promise: wait(5).then(() => [currentScope()?.signal, outcomeOf(policy.execute(() => new Promise(() => {})))]),
    }));
    const [signal, call] = (await later.promise) as [AbortSignal, { value: unknown }];
    controller.abort(reason);
    await microtasks();

    expect(signal).toBe(controller.signal);
    expect(call.value).toBe(reason);
  });

  it('with a signal that has aborted keeps policies inside from running anything', async () => {
    const work = vi.fn(() => 'answer');
    const run = (): Promise<unknown> => runInScope({ signal: AbortSignal.abort(reason) }, () => policy.execute(work));

    await expect(run()).rejects.toBe(reason);
    expect(work).not.toHaveBeenCalled();
  });

  it('whose signal has aborted meanwhile keeps policies inside from running anything', async () => {
    const controller = new WatchedController();
    const work = vi.fn(() => 'answer');
    const later = runInScope({ signal: controller.signal }, async () => {
      await wait(1);
      return await policy.execute(work);
    });
    controller.abort(reason);

    await expect(later).rejects.toBe(reason);
    expect(work).not.toHaveBeenCalled();
  });

  it('leaves nothing on its signal after a thousand calls', async () => {
    const controller = new WatchedController();
    await runInScope({ signal: controller.signal }, async () => {
      for (let call = 0; call < 1_000; call++) await policy.execute(() => call);
    });

    expect(controller.listeners).toBe(0);
  });

  it('does not stand in the way of what is detached', async () => {
    const work = vi.fn(() => 'answer');
    const run = (): Promise<unknown> =>
      runInScope({ signal: AbortSignal.abort(reason) }, () => policy.execute(work, { detached: true }));

    await expect(run()).resolves.toBe('answer');
  });
});

describe('a scope opened by hand inside an attempt', () => {
  const pending = (): Promise<never> => new Promise(() => {});
  const open = (own: AbortController): { scope: Scope; signal: AbortSignal; call: { value: unknown } } =>
    runInScope({ signal: own.signal }, () => {
      const scope = currentScope() as Scope;
      return { scope, signal: scope.signal, call: outcomeOf(policy.execute(pending)) };
    });
  /** As `open`, but the function that runs in the scope goes on until the test ends it. */
  const openLong = (own: AbortController): ReturnType<typeof open> & { end: () => void } => {
    let opened: ReturnType<typeof open> | undefined;
    let end: (() => void) | undefined;
    void runInScope({ signal: own.signal }, () => {
      const scope = currentScope() as Scope;
      opened = { scope, signal: scope.signal, call: outcomeOf(policy.execute(pending)) };
      return new Promise<void>((resolve) => (end = resolve));
    });

    return { ...(opened as ReturnType<typeof open>), end: () => end?.() };
  };

  it('is given up with the attempt', async () => {
    const own = new WatchedController();
    const { result, controller } = inAttempt(() => openLong(own));
    controller.abort(reason);
    await microtasks();

    expect(result.signal.reason).toBe(reason);
    expect(result.call.value).toBe(reason);
    expect([own.listeners, controller.listeners]).toEqual([0, 0]);
  });

  it('is given up with its own signal', async () => {
    const own = new WatchedController();
    const { result, controller, settle } = inAttempt(() => openLong(own));
    own.abort(reason);
    await microtasks();

    expect(result.signal.reason).toBe(reason);
    expect(result.call.value).toBe(reason);
    expect(controller.signal.aborted).toBe(false);
    await settle();
  });

  it('has one signal, however often it is asked for', async () => {
    const own = new WatchedController();
    const { result, settle } = inAttempt(() => openLong(own));

    expect(result.scope.signal).toBe(result.signal);
    expect(result.signal).not.toBe(own.signal);
    await settle();
  });

  it('has the reason of the first to abort', async () => {
    const own = new WatchedController();
    const { result, controller } = inAttempt(() => openLong(own));
    controller.abort(reason);
    own.abort(new Error('too late'));
    await microtasks();

    expect(result.signal.reason).toBe(reason);
    expect(result.call.value).toBe(reason);
    expect(result.scope.signal.aborted).toBe(true);
  });

  it('has only its own signal once the function has settled', async () => {
    const own = new WatchedController();
    const { result, controller } = inAttempt(() => open(own));
    controller.abort(new Error('of the attempt'));
    await microtasks();
    expect(result.signal.aborted).toBe(false);
    expect(result.scope.signal).toBe(own.signal);

    own.abort(reason);
    await microtasks();
    expect(result.signal.reason).toBe(reason);
    expect(result.call.value).toBe(reason);
  });

  it('has only its own signal once the promise of the function has settled', async () => {
    const own = new WatchedController();
    const { result, controller } = inAttempt(() => openLong(own));
    result.end();
    await microtasks();
    controller.abort(new Error('of the attempt'));
    await microtasks();
    expect(result.signal.aborted).toBe(false);

    own.abort(reason);
    await microtasks();
    expect(result.signal.reason).toBe(reason);
    expect(result.call.value).toBe(reason);
  });

  it('has only its own signal once the attempt has settled', async () => {
    const own = new WatchedController();
    const { result, controller, settle } = inAttempt(() => openLong(own));
    await settle();
    controller.abort(new Error('of the attempt'));
    await microtasks();
    expect(result.signal.aborted).toBe(false);
    expect(result.scope.signal).toBe(own.signal);

    own.abort(reason);
    await microtasks();
    expect(result.signal.reason).toBe(reason);
    expect(result.call.value).toBe(reason);
  });

  it('keeps its signal in work that is scheduled inside, when the attempt is over', async () => {
    const own = new WatchedController();
    const { result, settle } = inAttempt(() =>
      runInScope({ signal: own.signal }, () => ({ promise: wait(10).then(() => currentScope()?.signal) })),
    );
    await settle();

    await expect(result.promise).resolves.toBe(own.signal);
  });

  it('in another such scope whose signal has aborted keeps policies from running anything', async () => {
    const work = vi.fn(() => 'answer');
    const nested = runInScope({ signal: AbortSignal.abort(reason) }, () =>
      runInScope(
        { signal: new AbortController().signal },
        () => [currentScope()?.signal, policy.execute(work)] as const,
      ),
    );

    expect(nested[0]?.reason).toBe(reason);
    await expect(nested[1]).rejects.toBe(reason);
    expect(work).not.toHaveBeenCalled();
  });

  it('leaves nothing on either signal after many calls', async () => {
    const own = new WatchedController();
    const { controller, result, settle } = inAttempt(() =>
      runInScope({ signal: own.signal }, async () => {
        for (let call = 0; call < 200; call++) await policy.execute(() => call);
      }),
    );
    await result;

    expect(own.listeners).toBe(0);
    expect(controller.listeners).toBe(1);
    await settle();
    expect(controller.listeners).toBe(0);
  });

  it('is not joined to an attempt that has timed out already', async () => {
    const own = new WatchedController();
    let late: Promise<unknown> | undefined;
    const call = new TimeoutPolicy(5).execute(() => {
      late = wait(20).then(() => runInScope({ signal: own.signal }, () => currentScope()?.signal));
      return late;
    });

    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT' });
    await expect(late).resolves.toBe(own.signal);
  });
});

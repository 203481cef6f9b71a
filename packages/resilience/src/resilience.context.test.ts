import {
  BudgetPolicy,
  BulkheadPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
} from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ResilienceContext } from './resilience.context.js';

const context = new ResilienceContext();
const seen = (): [AbortSignal | undefined, number | undefined] => [context.signal, context.attempt];
const nothing = [undefined, undefined];

/** A promise to go on later. Fake timers would lose the async context, promises keep it. */
function pending() {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => (resolve = settle));

  return { promise, resolve };
}

describe('ResilienceContext', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  describe('outside of attempts', () => {
    it('knows neither a signal nor a number', () => {
      expect(seen()).toEqual(nothing);
    });

    it('knows nothing inside a policy that opens no attempt: no limit, no signal, the first', async () => {
      await expect(new BulkheadPolicy().execute(seen)).resolves.toEqual(nothing);
    });

    it('knows nothing where the attempt was asked not to be ambient', async () => {
      await expect(new TimeoutPolicy('1s').execute(seen, { ambient: false })).resolves.toEqual(nothing);
    });
  });

  describe('inside an attempt', () => {
    it('gives the very signal and number that the work is given', async () => {
      await new TimeoutPolicy('1s').execute(({ signal, attempt }) => expect(seen()).toEqual([signal, attempt]));
    });

    it('gives the deadline that the work is given, and none where there is no budget', async () => {
      const remaining = await new BudgetPolicy('1s').execute(async ({ deadline }) => {
        await vi.advanceTimersByTimeAsync(400);
        expect(context.deadline).toBe(deadline);
        return context.deadline?.remaining();
      });

      expect(remaining).toBe(600);
      expect(context.deadline).toBeUndefined();
      await new TimeoutPolicy('1s').execute(() => expect(context.deadline).toBeUndefined());
    });

    it('counts the attempts', async () => {
      const numbers: (number | undefined)[] = [];
      const policy = new RetryPolicy({ attempts: 3, backoff: { delay: 10, jitter: 'none', factor: 1 } });
      const outcome = policy.execute(
        async () => {
          await Promise.resolve();
          numbers.push(context.attempt);
          throw new Error('down');
        },
        { signal: new AbortController().signal },
      );

      await Promise.all([expect(outcome).rejects.toThrow('down'), vi.advanceTimersByTimeAsync(20)]);
      expect(numbers).toEqual([1, 2, 3]);
    });

    it('knows a retry of a policy without limit or signal from its second attempt on', async () => {
      const numbers: (number | undefined)[] = [];
      const outcome = new RetryPolicy({ attempts: 2, backoff: { delay: 0 } }).execute(() => {
        numbers.push(context.attempt);
        throw new Error('down');
      });

      await Promise.all([expect(outcome).rejects.toThrow('down'), vi.advanceTimersByTimeAsync(0)]);
      expect(numbers).toEqual([undefined, 2]);
    });

    it('gives the innermost of nested attempts', async () => {
      const outer = new TimeoutPolicy('5s');
      const inner = new TimeoutPolicy('1s');

      await outer.execute(async (around) => {
        await inner.execute((within) => {
          expect(within.signal).not.toBe(around.signal);
          expect(context.signal).toBe(within.signal);
        });
        expect(context.signal).toBe(around.signal);
      });
    });

    it('hands the signal on to policies that are used there, with the reason of the outer limit', async () => {
      let reason: unknown;
      const outer = new TimeoutPolicy({ name: 'route', timeout: 100 }).execute(() =>
        new RetryPolicy(5).execute(
          ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                reason = signal.reason;
                reject(signal.reason as Error);
              });
            }),
        ),
      );

      await Promise.all([expect(outer).rejects.toThrow(ResilienceTimeoutError), vi.advanceTimersByTimeAsync(100)]);
      expect(reason).toMatchObject({ policy: 'route', timeoutMs: 100 });
    });
  });

  describe('after an attempt', () => {
    it('knows nothing in work that an attempt left running', async () => {
      const { promise, resolve } = pending();
      let later: Promise<unknown> | undefined;
      await new TimeoutPolicy('1s').execute(() => {
        expect(context.attempt).toBe(1);
        later = promise.then(seen);
      });

      resolve();
      await expect(later).resolves.toEqual(nothing);
    });

    it('knows nothing in a handler that ignores its timeout: it is no longer in the attempt', async () => {
      const [early, late] = [pending(), pending()];
      const observed: unknown[] = [];
      const outcome = new TimeoutPolicy(100).execute(async () => {
        await early.promise;
        observed.push(context.attempt);
        await late.promise;
        observed.push(context.attempt, context.signal);
      });

      await vi.advanceTimersByTimeAsync(99);
      early.resolve();
      await Promise.all([expect(outcome).rejects.toThrow(ResilienceTimeoutError), vi.advanceTimersByTimeAsync(1)]);
      late.resolve();
      await vi.advanceTimersByTimeAsync(0);
      expect(observed).toEqual([1, undefined, undefined]);
    });

    it('falls back to the nearest attempt that has not ended', async () => {
      const { promise, resolve } = pending();
      await new TimeoutPolicy('5s').execute(async (outer) => {
        let later: Promise<unknown> | undefined;
        const inner = new TimeoutPolicy(100).execute(() => (later = promise.then(() => context.signal)));
        await Promise.all([expect(inner).rejects.toThrow(ResilienceTimeoutError), vi.advanceTimersByTimeAsync(100)]);

        resolve();
        expect(await later).toBe(outer.signal);
      });
    });
  });

  describe('run()', () => {
    it('returns what its function returns, and throws what it throws', async () => {
      const { signal } = new AbortController();

      expect(context.run({ signal }, () => 7)).toBe(7);
      await expect(context.run({ signal }, () => Promise.resolve(8))).resolves.toBe(8);
      expect(() =>
        context.run({ signal }, () => {
          throw new RangeError('no');
        }),
      ).toThrow(RangeError);
    });

    it('opens an attempt with this signal, the first unless a number is given', () => {
      const { signal } = new AbortController();

      expect(context.run({ signal }, seen)).toEqual([signal, 1]);
      expect(context.run({ signal, attempt: 4 }, seen)).toEqual([signal, 4]);
      expect(seen()).toEqual(nothing);
    });

    it('gives its signal to policies inside', async () => {
      const caller = new AbortController();
      const reason = new Error('no longer wanted');
      const outcome = context.run({ signal: caller.signal }, () =>
        new RetryPolicy().execute(() => new Promise(() => {})),
      );

      caller.abort(reason);

      await expect(outcome).rejects.toBe(reason);
    });

    it('never ends: what was started inside keeps the signal', async () => {
      const { signal } = new AbortController();
      const { promise, resolve } = pending();
      let later: Promise<unknown> | undefined;
      context.run({ signal }, () => {
        later = promise.then(() => context.signal);
      });

      resolve();
      expect(await later).toBe(signal);
    });

    it('inside an attempt follows that attempt too: the first aborter gives the reason', async () => {
      const own = new AbortController();
      let inside: AbortSignal | undefined;
      const outcome = new TimeoutPolicy(100).execute(() =>
        context.run({ signal: own.signal }, () => {
          inside = context.signal;
          return new Promise(() => {});
        }),
      );

      await Promise.all([expect(outcome).rejects.toThrow(ResilienceTimeoutError), vi.advanceTimersByTimeAsync(100)]);

      expect(inside?.reason).toBeInstanceOf(ResilienceTimeoutError);
      expect(own.signal.aborted).toBe(false);
    });

    it('inside an attempt passes its own signal on first when that aborts first', async () => {
      const own = new AbortController();
      const reason = new Error('no longer wanted');
      let inside: AbortSignal | undefined;
      const outcome = new TimeoutPolicy(100).execute(() =>
        context.run({ signal: own.signal }, () => {
          inside = context.signal;
          return new Promise((_, reject) => inside?.addEventListener('abort', () => reject(inside?.reason as Error)));
        }),
      );

      own.abort(reason);

      await expect(outcome).rejects.toBe(reason);
      expect(inside?.reason).toBe(reason);
    });

    it('follows the attempt around no longer once its function has settled', async () => {
      const own = new AbortController();
      let inside: AbortSignal | undefined;
      const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100));
      const outcome = policy.execute(async () => {
        context.run({ signal: own.signal }, () => {
          inside = context.signal;
        });
        await new Promise(() => {});
      });

      await Promise.all([expect(outcome).rejects.toThrow(ResilienceTimeoutError), vi.advanceTimersByTimeAsync(100)]);
      expect(inside?.aborted).toBe(false);

      own.abort(new Error('later'));
      expect(inside?.reason).toBe(own.signal.reason);
    });
  });
});

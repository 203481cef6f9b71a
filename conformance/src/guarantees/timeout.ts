import assert from 'node:assert/strict';
import type { Adapter, Policy } from '../adapter.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { Manual, observe, watchListeners } from '../observed.js';

const LIMIT_MS = 100;
const hang = (): Promise<never> => new Promise<never>(() => {});

/** Our own library with another timeout: `change` gets the right one, and makes a policy of it. */
function withTimeout(change: (right: Policy, ms: number) => Policy): (ours: Required<Adapter>) => Adapter {
  return (ours) => ({ ...ours, timeout: (ms) => change(ours.timeout(ms), ms) });
}

export const TIMEOUT: readonly Guarantee[] = [
  guarantee({
    id: 'timeout-settles-at-its-limit',
    policy: 'timeout',
    sentence: 'A call is rejected at its limit and not before, also when the work never reacts.',
    seen: 'Failsafe, p-retry: the call hangs when its work ignores the abort',
    needs: ['timeout', 'isTimeout'],
    check: async ({ library, clock }) => {
      const call = observe(library.timeout(LIMIT_MS).run(hang));
      await clock.tick(LIMIT_MS - 1);
      assert.equal(call.state, 'pending', 'it was rejected before its limit');
      await clock.tick(1);
      assert.equal(call.state, 'rejected', 'it was still pending at its limit');
      assert.ok(library.isTimeout(call.error), `its error does not say that time ran out: ${String(call.error)}`);
    },
    mutant: withTimeout((right, ms) => ({
      run: (work, signal) =>
        right
          .run(async (attempt) => {
            const result = await work(attempt);
            return result;
          }, signal)
          .catch(async (error: unknown) => {
            // Waits for work that listens to nobody.
            if (signal?.aborted !== true) await new Promise((resolve) => setTimeout(resolve, ms));
            throw error;
          }),
    })),
  }),
  guarantee({
    id: 'timeout-tells-the-work',
    policy: 'timeout',
    sentence: 'At the limit the signal of the work aborts.',
    seen: 'hono, Nest interceptors: the answer is 504 and the work goes on',
    needs: ['timeout'],
    check: async ({ library, clock }) => {
      const manual = new Manual();
      void observe(library.timeout(LIMIT_MS).run(manual.work));
      await clock.settle();
      assert.ok(manual.signals[0], 'the work is given no signal');
      await clock.tick(LIMIT_MS);
      assert.equal(manual.signals[0].aborted, true, 'its signal did not abort');
    },
    mutant: withTimeout((right) => ({
      run: (work, signal) => right.run(() => work({ signal: new AbortController().signal }), signal),
    })),
  }),
  guarantee({
    id: 'timeout-drops-late-failures',
    policy: 'timeout',
    sentence: 'What the work throws after its limit is nobody’s unhandled rejection.',
    seen: 'hand-written races: a late rejection ends the process',
    needs: ['timeout'],
    check: async ({ library, clock }) => {
      const manual = new Manual();
      void observe(library.timeout(LIMIT_MS).run(manual.work));
      await clock.tick(LIMIT_MS);
      manual.reject(0, new Error('late'));
      await clock.settle();
    },
    mutant: withTimeout((right) => ({
      run: (work, signal) =>
        right.run((attempt) => {
          const result = work(attempt);
          // A second branch of the promise, which nobody listens to.
          void Promise.resolve(result).then(
            () => {},
            (error: unknown) => {
              if (attempt.signal?.aborted === true) throw error;
            },
          );
          return result;
        }, signal),
    })),
  }),
];
void watchListeners;

import assert from 'node:assert/strict';
import { counted } from '../counted.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { around, reading, replacing } from '../mutation.js';
import { observe } from '../observed.js';
import { assertSettingsRefused } from '../senseless-settings.js';
import { pause, Unreliable } from '../works.js';

const WAIT_MS = 10;
const SHORT = pause(WAIT_MS);
/** Longer than any wait of a scenario here. */
const LONG_MS = 1_000;

/** How often one policy runs its work, and whether a retry is decided on, as its settings say. */
export const RETRY: readonly Guarantee[] = [
  guarantee({
    id: 'retry-counts-the-first-attempt',
    policy: 'retry',
    sentence: 'Three attempts run the work three times, then the call fails.',
    seen: 'node-retry, async-retry: the setting counts the retries after the first call, its readers count calls',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const call = observe(library.retry({ attempts: 3, backoff: SHORT }).run(failing.work));
      await clock.tick(LONG_MS);
      assert.equal(failing.calls, 3, `the work ran ${counted(failing.calls, 'time')}`);
      assert.equal(call.state, 'rejected', 'the call did not fail');
    },
    mutant: reading('retry', (spec) => ({ ...spec, attempts: spec.attempts === 1 ? 1 : spec.attempts + 1 })),
  }),
  guarantee({
    id: 'retry-of-one-attempt-is-one-call',
    policy: 'retry',
    sentence: 'A single attempt is one call, and its error is there at once.',
    seen: 'schedules where a count of zero repetitions stands for no end, or for the default',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const call = observe(library.retry({ attempts: 1, backoff: SHORT }).run(failing.work));
      await clock.settle();
      assert.equal(call.state, 'rejected', 'the call waited after its only attempt');
      await clock.tick(LONG_MS);
      assert.equal(failing.calls, 1, `the work ran ${counted(failing.calls, 'time')}`);

      const twice = new Unreliable(clock);
      void observe(library.retry({ attempts: 2, backoff: SHORT }).run(twice.work));
      await clock.tick(LONG_MS);
      assert.equal(twice.calls, 2, `of two attempts the work ran ${counted(twice.calls, 'time')}`);
    },
    // No retries at all look like no setting at all.
    mutant: reading('retry', (spec) => ({ ...spec, attempts: (spec.attempts - 1 || 2) + 1 })),
  }),
  guarantee({
    id: 'retry-refuses-senseless-counts',
    policy: 'retry',
    sentence: 'A count of attempts of 0, -1 or NaN is refused.',
    seen: 'hand-written loops, settings read from an unset variable: the work never runs, or runs for ever',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      for (const attempts of [0, -1, Number.NaN]) {
        await assertSettingsRefused(() => library.retry({ attempts, backoff: SHORT }), clock);
      }
    },
    mutant: reading('retry', (spec) => ({ ...spec, attempts: spec.attempts > 0 ? spec.attempts : 1 })),
  }),
  guarantee({
    id: 'retry-throws-the-last-error',
    policy: 'retry',
    sentence: 'When all attempts failed, the caller gets the error of the last one itself.',
    seen: 'retry helpers that answer with an error of their own, or with that of the first attempt',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const call = observe(library.retry({ attempts: 3, backoff: SHORT }).run(failing.work));
      await clock.tick(LONG_MS);
      assert.ok(call.error === failing.errors[2], `the caller got ${String(call.error)}`);
    },
    mutant: replacing('retry', (right) => ({
      run: async (work, signal) => {
        let first: { readonly error: unknown } | undefined;
        const remembering: typeof work = async (attempt) => {
          try {
            return await work(attempt);
          } catch (error) {
            first ??= { error };
            throw error;
          }
        };
        try {
          return await right.run(remembering, signal);
        } catch (error) {
          throw first === undefined || signal?.aborted === true ? error : first.error;
        }
      },
    })),
  }),
  guarantee({
    id: 'retry-asks-about-every-error',
    policy: 'retry',
    sentence: 'An error that is not worth another attempt ends the retries, also when those before it were.',
    seen: 'retry helpers that classify the first failure only',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const retryIf = (error: unknown): boolean => error !== failing.errors[1];
      const call = observe(library.retry({ attempts: 5, backoff: SHORT, retryIf }).run(failing.work));
      await clock.tick(LONG_MS);
      assert.equal(failing.calls, 2, `the work ran ${counted(failing.calls, 'time')}`);
      assert.ok(call.error === failing.errors[1], `the caller got ${String(call.error)}`);
    },
    mutant: reading('retry', ({ retryIf = () => true, ...spec }) => {
      let verdict: boolean | undefined;
      return { ...spec, retryIf: (error) => (verdict ??= retryIf(error)) };
    }),
  }),
  guarantee({
    id: 'retry-ends-when-its-predicate-throws',
    policy: 'retry',
    sentence: 'A predicate that throws fails the call at once, without another attempt.',
    seen: 'retry helpers that take a predicate’s bug for a yes',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const retryIf = (error: unknown): boolean => {
        if (error === failing.errors[1]) throw new Error('a bug in the predicate');
        return true;
      };
      const call = observe(library.retry({ attempts: 3, backoff: SHORT, retryIf }).run(failing.work));
      await clock.tick(WAIT_MS);
      assert.equal(call.state, 'rejected', 'the call did not fail');
      await clock.tick(LONG_MS);
      assert.equal(failing.calls, 2, `the work ran ${counted(failing.calls, 'time')}`);
    },
    mutant: reading('retry', ({ retryIf = () => true, ...spec }) => ({
      ...spec,
      retryIf: (error) => {
        try {
          return retryIf(error);
        } catch {
          return true;
        }
      },
    })),
  }),
  guarantee({
    id: 'retry-asks-about-results',
    policy: 'retry',
    sentence: 'A result is retried as often as it is called bad, and never when it is called good.',
    seen: 'resilience libraries whose predicate of results counts as a yes by being there',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const results = ['bad', 'bad', 'bad', 'good', 'too much'];
      let calls = 0;
      const retryResultIf = (result: unknown): boolean => result === 'bad';
      const policy = library.retry({ attempts: 5, backoff: SHORT, retryResultIf });
      const call = observe(policy.run(() => results[calls++]));
      await clock.tick(LONG_MS);
      assert.deepEqual([call.value, calls], ['good', 4], `after ${calls} runs the call gave ${String(call.value)}`);
    },
    mutant: reading('retry', (spec) =>
      spec.retryResultIf === undefined ? spec : { ...spec, retryResultIf: () => true },
    ),
  }),
  guarantee({
    id: 'retry-knows-errors-that-are-falsy',
    policy: 'retry',
    sentence: 'Whatever the work throws is a failure, also `undefined`, and it reaches the caller as it was.',
    seen: 'p-retry: what is no Error is replaced by a TypeError, and never retried',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      let calls = 0;
      const policy = library.retry({ attempts: 3, backoff: SHORT });
      const call = observe(
        policy.run(() => {
          calls += 1;
          throw undefined;
        }),
      );
      await clock.tick(LONG_MS);
      assert.equal(calls, 3, `the work ran ${counted(calls, 'time')}`);
      assert.equal(call.state, 'rejected', 'the call did not fail');
      assert.ok(call.error === undefined, `the caller got ${String(call.error)}`);
    },
    mutant: replacing('retry', (right) =>
      around(right, (work) => async (attempt) => {
        try {
          return await work(attempt);
        } catch (error) {
          if (error) throw error;
          return undefined as never;
        }
      }),
    ),
  }),
  guarantee({
    id: 'retry-repeats-synchronous-failures',
    policy: 'retry',
    sentence: 'Work that throws before it returns a promise is retried like work that rejects.',
    seen: 'hand-written helpers of the form work().catch(again)',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      let calls = 0;
      const policy = library.retry({ attempts: 3, backoff: SHORT });
      const call = observe(
        policy.run(() => {
          calls += 1;
          throw new Error('before any promise');
        }),
      );
      await clock.tick(LONG_MS);
      assert.equal(call.state, 'rejected', 'the call did not fail');
      assert.equal(calls, 3, `the work ran ${counted(calls, 'time')}`);
    },
    mutant: (ours) => ({
      ...ours,
      retry: ({ retryIf = () => true, ...spec }) => {
        const synchronous = new Set<unknown>();
        const right = ours.retry({ ...spec, retryIf: (error) => !synchronous.has(error) && retryIf(error) });
        return around(right, (work) => (attempt) => {
          try {
            return work(attempt);
          } catch (error) {
            // Of `undefined` it would remember every one.
            if (error !== undefined) synchronous.add(error);
            throw error;
          }
        });
      },
    }),
  }),
  guarantee({
    id: 'retry-counts-each-call-by-itself',
    policy: 'retry',
    sentence: 'Calls that one policy runs at the same time have all their attempts each.',
    seen: 'retry operations kept in a field and used twice: the second call has what the first left over',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const policy = library.retry({ attempts: 3, backoff: SHORT });
      const failing = [new Unreliable(clock, 2), new Unreliable(clock, 2)];
      const calls = failing.map(({ work }) => observe(policy.run(work)));
      await clock.tick(LONG_MS);
      for (const call of calls) assert.equal(call.state, 'fulfilled', 'a call did not get to its third attempt');
    },
    mutant: reading('retry', ({ retryIf = () => true, ...spec }) => {
      let left = spec.attempts - 1;
      return { ...spec, retryIf: (error) => retryIf(error) && left-- > 0 };
    }),
  }),
];

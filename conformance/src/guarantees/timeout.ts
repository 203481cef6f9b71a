import assert from 'node:assert/strict';
import { NotOffered, type Policy } from '../adapter.js';
import { counted } from '../counted.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { around, reading, replacing } from '../mutation.js';
import { Manual, observe } from '../observed.js';
import { assertSettingsRefused } from '../senseless-settings.js';
import { assertLimits, hanging, Unreliable } from '../works.js';

const LIMIT_MS = 100;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LONGEST_TIMER_MS = 2_147_483_647;

/** How long a call lasts. */
export const TIMEOUT: readonly Guarantee[] = [
  guarantee({
    id: 'timeout-settles-at-its-limit',
    policy: 'timeout',
    sentence: 'A call is rejected at its limit and not before, also when the work never reacts.',
    seen: 'Failsafe, p-retry: the call hangs when its work ignores the abort',
    needs: ['timeout', 'isTimeout'],
    check: async ({ library, clock }) => {
      const call = observe(library.timeout(LIMIT_MS).run(hanging));
      await clock.tick(LIMIT_MS - 1);
      assert.equal(call.state, 'pending', 'it was rejected before its limit');
      await clock.tick(1);
      assert.equal(call.state, 'rejected', 'it was still pending at its limit');
      assert.ok(library.isTimeout(call.error), `its error does not say that time ran out: ${String(call.error)}`);
    },
    // The abort is all that ends it.
    mutant: replacing('timeout', (right, ms) => ({
      run: async (work, signal) => {
        let isOver = false;
        const outcome = right.run(async (attempt) => {
          try {
            return await work(attempt);
          } finally {
            isOver = true;
          }
        }, signal);
        try {
          return await outcome;
        } catch (error) {
          if (!isOver && signal?.aborted !== true) await new Promise((resolve) => setTimeout(resolve, ms));
          throw error;
        }
      },
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
    mutant: replacing('timeout', (right) =>
      around(right, (work) => () => work({ signal: new AbortController().signal })),
    ),
  }),
  guarantee({
    id: 'timeout-drops-late-failures',
    policy: 'timeout',
    sentence: 'What the work throws after its limit is nobody’s unhandled rejection.',
    seen: 'hand-written races: a late rejection ends the process',
    needs: ['timeout'],
    check: async ({ library, clock }) => {
      const manual = new Manual();
      const call = observe(library.timeout(LIMIT_MS).run(manual.work));
      await clock.tick(LIMIT_MS);
      assert.equal(call.state, 'rejected', 'it was still pending at its limit');
      manual.reject(0, new Error('late'));
      await clock.settle();
    },
    mutant: replacing('timeout', (right) =>
      around(right, (work) => (attempt) => {
        const result = work(attempt);
        // A second branch of the promise, which nobody listens to.
        void Promise.resolve(result).then(
          () => {},
          (error: unknown) => {
            if (attempt.signal?.aborted === true) throw error;
          },
        );
        return result;
      }),
    ),
  }),
  guarantee({
    id: 'timeout-leaves-no-timer',
    policy: 'timeout',
    sentence: 'Once a call has settled, well or badly, no timer of its waits.',
    seen: 'hand-written races: the process stays alive for the limit of a call that is long over',
    needs: ['timeout'],
    check: async ({ library, clock }) => {
      const policy = library.timeout(LIMIT_MS);
      const calls = [observe(policy.run(() => 'done')), observe(policy.run(new Unreliable(clock).work))];
      await clock.settle();
      assert.deepEqual(
        calls.map(({ state }) => state),
        ['fulfilled', 'rejected'],
      );
      assert.equal(clock.timers, 0, `${counted(clock.timers, 'timer')} left`);
      const late = observe(policy.run(hanging));
      await clock.tick(LIMIT_MS);
      assert.equal(late.state, 'rejected', 'it was still pending at its limit');
      assert.equal(clock.timers, 0, `${counted(clock.timers, 'timer')} left beyond a limit`);
    },
    mutant: replacing('timeout', (right, ms) => ({
      run: async (work, signal) => {
        const result = await right.run(work, signal);
        setTimeout(() => {}, ms);
        return result;
      },
    })),
  }),
  guarantee({
    id: 'timeout-keeps-long-limits',
    policy: 'timeout',
    sentence: 'A limit above 2^31-1 ms, which no timer can hold, does not end the call at once.',
    seen: 'libraries that hand their limits to setTimeout, which takes 2^31 ms for 1 ms',
    needs: ['timeout'],
    check: async (stage) => {
      await assertLimits(stage);
      const { library, clock } = stage;
      for (const limit of [LONGEST_TIMER_MS + 1, 30 * DAY_MS]) {
        const policy = madeOrRefused(() => library.timeout(limit));
        if (policy === undefined) continue;
        const call = observe(policy.run(hanging));
        await clock.tick(limit - 1);
        assert.equal(call.state, 'pending', `${limit} ms were not waited for`);
      }
    },
    mutant: reading('timeout', (ms) => (ms > LONGEST_TIMER_MS ? 1 : ms)),
  }),
  guarantee({
    id: 'timeout-refuses-senseless-limits',
    policy: 'timeout',
    sentence: 'A limit of NaN or below zero is refused.',
    seen: 'settings read from an unset variable: a timer takes NaN for 1 ms, or the limit is off',
    needs: ['timeout'],
    check: async ({ library, clock }) => {
      for (const limit of [Number.NaN, -1]) await assertSettingsRefused(() => library.timeout(limit), clock);
    },
    mutant: reading('timeout', (ms) => (ms > 0 ? ms : 1)),
  }),
  guarantee({
    id: 'timeout-rejects-synchronous-failures',
    policy: 'timeout',
    sentence: 'Work that throws before it returns a promise rejects the call, with that error, and leaves no timer.',
    seen: 'hand-written helpers that throw where their callers expect a promise, and keep the timer',
    needs: ['timeout'],
    check: async (stage) => {
      await assertLimits(stage);
      const { library, clock } = stage;
      const own = new Error('before any promise');
      let call;
      try {
        call = observe(
          library.timeout(LIMIT_MS).run(() => {
            throw own;
          }),
        );
      } catch {
        assert.fail('it throws where a promise is expected');
      }
      await clock.settle();
      assert.ok(call.error === own, `the call is ${call.state}, with ${String(call.error)}`);
      assert.equal(clock.timers, 0, `${counted(clock.timers, 'timer')} left`);
    },
    mutant: replacing('timeout', (right) => ({
      run: (work, signal) => {
        let thrown: { readonly error: unknown } | undefined;
        const call = right.run((attempt) => {
          try {
            return work(attempt);
          } catch (error) {
            thrown = { error };
            throw error;
          }
        }, signal);
        if (thrown === undefined) return call;

        void observe(call);
        throw thrown.error;
      },
    })),
  }),
  guarantee({
    id: 'timeout-stays-one-when-the-work-reacts',
    policy: 'timeout',
    sentence: 'Also when the work answers the abort with an error of its own, the caller is told that time ran out.',
    seen: 'fetch in a hand-written timeout: the caller gets an AbortError and takes it for a cancelled call',
    needs: ['timeout', 'isTimeout'],
    check: async ({ library, clock }) => {
      const listening = ({ signal }: { readonly signal?: AbortSignal | undefined }): Promise<never> =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new DOMException('This operation was aborted', 'AbortError')));
        });
      const call = observe(library.timeout(LIMIT_MS).run(listening));
      await clock.tick(LIMIT_MS);
      assert.equal(call.state, 'rejected', 'it was still pending at its limit');
      assert.ok(library.isTimeout(call.error), `the caller got ${String(call.error)}`);
    },
    mutant: replacing('timeout', (right) => ({
      run: async (work, signal) => {
        let reaction: { readonly error: unknown } | undefined;
        try {
          return await right.run(async (attempt) => {
            try {
              return await work(attempt);
            } catch (error) {
              if (error instanceof DOMException) reaction = { error };
              throw error;
            }
          }, signal);
        } catch (error) {
          for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
          throw reaction === undefined ? error : reaction.error;
        }
      },
    })),
  }),
  guarantee({
    id: 'timeout-does-not-look-at-the-wall-clock',
    policy: 'timeout',
    sentence: 'Setting the wall clock an hour ahead, or back, neither shortens nor lengthens a limit.',
    seen: 'limits kept as a moment of the wall clock: a correction of the clock ends them, or holds them up',
    needs: ['timeout'],
    check: async ({ library, clock }) => {
      for (const hours of [1, -1]) {
        const call = observe(library.timeout(LIMIT_MS).run(hanging));
        await clock.tick(LIMIT_MS / 2);
        clock.step(hours * HOUR_MS);
        await clock.tick(LIMIT_MS / 2 - 1);
        assert.equal(call.state, 'pending', 'it was rejected before its limit');
        await clock.tick(1);
        assert.equal(call.state, 'rejected', 'it was still pending at its limit');
      }
    },
    mutant: replacing('timeout', (right, ms) => ({
      run: async (work, signal) => {
        const due = Date.now() + ms;
        try {
          return await right.run(work, signal);
        } catch (error) {
          // Too early, by that clock: it waits for the rest.
          while (Date.now() < due - HOUR_MS / 2) await new Promise((resolve) => setTimeout(resolve, ms));
          throw error;
        }
      },
    })),
  }),
];

/** A limit that is refused ends nothing. */
function madeOrRefused(make: () => Policy): Policy | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof NotOffered) throw error;
    return undefined;
  }
}

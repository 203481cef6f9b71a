import assert from 'node:assert/strict';
import { ResilienceTimeoutError } from 'holdfast';
import { counted } from '../counted.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { around, replacing } from '../mutation.js';
import { Manual, observe, watchListeners } from '../observed.js';
import { assertReason } from '../reasons.js';
import { assertLimits, hanging, Unreliable } from '../works.js';

const LIMIT_MS = 100;
const EARLY_MS = 20;

/** What a timeout does with signals: the caller's, and the one that it hands to the work. */
export const TIMEOUT_ABORTS: readonly Guarantee[] = [
  guarantee({
    id: 'timeout-leaves-a-success-alone',
    policy: 'timeout',
    sentence: 'After a success the signal of the work never aborts: a body that was returned stays readable.',
    seen: 'failsafe-go: the context was cancelled when the headers were there, and the body could not be read',
    needs: ['timeout'],
    check: async (stage) => {
      await assertLimits(stage);
      const { library, clock } = stage;
      const manual = new Manual();
      const call = observe(library.timeout(LIMIT_MS).run(manual.work));
      await clock.tick(EARLY_MS);
      manual.resolve(0, 'headers');
      await clock.settle();
      assert.equal(call.state, 'fulfilled', `the call is ${call.state}`);
      await clock.tick(10 * LIMIT_MS);
      assert.notEqual(manual.signals[0]?.aborted, true, 'the signal aborted after the call had succeeded');
    },
    mutant: replacing('timeout', (right) => ({
      run: async (work, signal) => {
        const finished = new AbortController();
        try {
          return await right.run((attempt) => {
            attempt.signal?.addEventListener('abort', () => finished.abort(attempt.signal?.reason), { once: true });
            return work({ signal: finished.signal });
          }, signal);
        } finally {
          // Tidy, and one step too early.
          finished.abort();
        }
      },
    })),
  }),
  guarantee({
    id: 'timeout-is-not-what-the-caller-did',
    policy: 'timeout',
    sentence: 'A caller that gives up gets its reason itself, at once, and not word of a timeout.',
    seen: 'cockatiel: a caller’s abort after 20 ms was reported as a timeout after 5,000 ms',
    needs: ['timeout', 'isTimeout'],
    check: async ({ library, clock }) => {
      const controller = new AbortController();
      const reason = new Error('the caller gave up');
      const call = observe(library.timeout(LIMIT_MS).run(hanging, controller.signal));
      await clock.tick(EARLY_MS);
      controller.abort(reason);
      await clock.settle();
      assert.equal(call.state, 'rejected', 'the call goes on');
      assert.equal(library.isTimeout(call.error), false, 'it was reported as a timeout');
      assertReason(library, call.error, { reason, what: 'the caller got' });
    },
    mutant: replacing('timeout', (right, ms) => ({
      run: async (work, signal) => {
        let begun = false;
        try {
          return await right.run((attempt) => {
            begun = true;
            return work(attempt);
          }, signal);
        } catch (error) {
          if (begun && signal?.aborted === true) throw new ResilienceTimeoutError(ms, 'timeout');
          throw error;
        }
      },
    })),
  }),
  guarantee({
    id: 'timeout-clears-its-timer-at-an-abort',
    policy: 'timeout',
    sentence: 'When a caller gives up no timer is left.',
    seen: 'timeouts that are cleared when their work settles, which work that was given up need not do',
    needs: ['timeout'],
    check: async (stage) => {
      await assertLimits(stage);
      const { library, clock } = stage;
      const controller = new AbortController();
      void observe(library.timeout(LIMIT_MS).run(hanging, controller.signal));
      await clock.tick(EARLY_MS);
      controller.abort(new Error('the caller gave up'));
      await clock.settle();
      assert.equal(clock.timers, 0, `${counted(clock.timers, 'timer')} left`);
    },
    mutant: replacing('timeout', (right, ms) => ({
      run: async (work, signal) => {
        try {
          return await right.run(work, signal);
        } catch (error) {
          if (signal?.aborted === true) setTimeout(() => {}, ms);
          throw error;
        }
      },
    })),
  }),
  guarantee({
    id: 'timeout-tells-the-work-of-an-abort',
    policy: 'timeout',
    sentence: 'The signal of the work aborts with the caller’s reason itself.',
    seen: 'cockatiel: the reason was lost on the way down',
    needs: ['timeout'],
    check: async (stage) => {
      await assertLimits(stage);
      const { library, clock } = stage;
      const controller = new AbortController();
      const reason = new Error('the caller gave up');
      const manual = new Manual();
      void observe(library.timeout(LIMIT_MS).run(manual.work, controller.signal));
      await clock.settle();
      controller.abort(reason);
      await clock.settle();
      assert.ok(manual.signals[0], 'the work is given no signal');
      assert.equal(manual.signals[0].aborted, true, 'the signal of the work did not abort');
      assertReason(library, manual.signals[0].reason, { reason, what: 'the work was told' });
    },
    mutant: replacing('timeout', (right) =>
      around(right, (work) => ({ signal }) => {
        const controller = new AbortController();
        signal?.addEventListener('abort', () => controller.abort(), { once: true });
        return work({ signal: controller.signal });
      }),
    ),
  }),
  guarantee({
    id: 'timeout-starts-nothing-for-who-has-left',
    policy: 'timeout',
    sentence: 'With a signal that has aborted already the work does not run, and the reason is the error.',
    seen: 'helpers that add a listener and never look: the event of an aborted signal does not come again',
    needs: ['timeout', 'signals'],
    check: async ({ library, clock }) => {
      const reason = new Error('gave up before');
      const manual = new Manual();
      const call = observe(library.timeout(LIMIT_MS).run(manual.work, AbortSignal.abort(reason)));
      await clock.settle();
      assert.equal(manual.calls, 0, 'the work ran');
      assert.equal(call.state, 'rejected', `the call is ${call.state}`);
      assertReason(library, call.error, { reason, what: 'the caller got' });
    },
    mutant: replacing('timeout', (right) => ({
      run: (work, signal) => right.run(work, signal?.aborted === true ? undefined : signal),
    })),
  }),
  guarantee({
    id: 'timeout-cuts-its-own-call-only',
    policy: 'timeout',
    sentence: 'A call that runs out of time leaves the signal of another one alone, and of those that come after it.',
    seen: 'opossum: all calls had one controller, and one timeout aborted each of them and every later one',
    needs: ['timeout'],
    check: async ({ library, clock }) => {
      const manual = new Manual();
      const policy = library.timeout(LIMIT_MS);
      const cut = observe(policy.run(manual.work));
      await clock.tick(LIMIT_MS / 2);
      const neighbour = observe(policy.run(manual.work));
      await clock.tick(LIMIT_MS / 2);
      assert.equal(cut.state, 'rejected', 'it was still pending at its limit');
      const later = observe(policy.run(manual.work));
      await clock.settle();
      assert.deepEqual(
        manual.signals.slice(1).map((signal) => signal?.aborted ?? false),
        [false, false],
        'the signal of another call aborted',
      );
      manual.resolve(1, 'done');
      manual.resolve(2, 'done');
      await clock.settle();
      assert.deepEqual([neighbour.state, later.state], ['fulfilled', 'fulfilled'], 'another call failed');
    },
    mutant: replacing('timeout', (right) => {
      const shared = new AbortController();
      return around(right, (work) => ({ signal }) => {
        signal?.addEventListener('abort', () => shared.abort(signal.reason), { once: true });
        return work({ signal: shared.signal });
      });
    }),
  }),
  guarantee({
    id: 'timeout-leaves-no-listener',
    policy: 'timeout',
    sentence: 'A signal that outlives many calls has no listener left of them, however they ended.',
    seen: 'cockatiel, failsafe-go: a listener on the parent stayed for each call, until the warning of a leak',
    needs: ['timeout', 'signals'],
    check: async ({ library, clock }) => {
      const { signal } = new AbortController();
      const listeners = watchListeners(signal);
      const policy = library.timeout(LIMIT_MS);
      const works = [() => 'done', new Unreliable(clock).work, hanging, () => new Promise(() => {})];
      const calls = works.map((work) => observe(policy.run<unknown>(work, signal)));
      await clock.tick(LIMIT_MS);
      assert.ok(
        calls.every(({ state }) => state !== 'pending'),
        'a call goes on',
      );
      assert.equal(listeners(), 0, `${counted(listeners(), 'listener')} stayed`);
    },
    mutant: replacing('timeout', (right) => ({
      run: (work, signal) => {
        signal?.addEventListener('abort', () => {}, { once: true });
        return right.run(work, signal);
      },
    })),
  }),
];

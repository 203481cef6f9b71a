import assert from 'node:assert/strict';
import { NotOffered, type Policy, type Work } from '../adapter.js';
import { counted } from '../counted.js';
import { guarantee, type Guarantee, type Stage } from '../guarantee.js';
import { around, replacing } from '../mutation.js';
import { Manual, observe, watchListeners } from '../observed.js';
import { assertReason } from '../reasons.js';
import { cooperative, pause, Unreliable } from '../works.js';

const BACKOFF = pause(800);
const CALLS = 20;

/** The retry, which hears of its caller's abort in one of its two states only; in the other one later, if at all. */
function hearing(right: Policy, heard: 'while an attempt runs' | 'between attempts'): Policy {
  return {
    run: async (work, signal) => {
      const controller = new AbortController();
      let isRunning = false;
      const forward = (): void => {
        if (isRunning === (heard === 'while an attempt runs')) controller.abort(signal?.reason);
      };
      signal?.addEventListener('abort', forward);
      if (signal?.aborted === true) controller.abort(signal.reason);
      try {
        return await right.run(async (attempt) => {
          isRunning = true;
          if (heard === 'while an attempt runs' && signal?.aborted === true) forward();
          try {
            return await work(heard === 'between attempts' ? { signal } : attempt);
          } finally {
            isRunning = false;
          }
        }, controller.signal);
      } finally {
        signal?.removeEventListener('abort', forward);
      }
    },
  };
}

/** A call that its caller gives up while it waits for the second attempt. */
async function leftBetweenAttempts({ library, clock }: Stage) {
  const controller = new AbortController();
  const failing = new Unreliable(clock);
  const call = observe(library.retry({ attempts: 3, backoff: BACKOFF }).run(failing.work, controller.signal));
  await clock.tick(50);
  assert.equal(call.state, 'pending', 'it does not wait for another attempt');
  controller.abort(new Error('the caller gave up'));
  await clock.settle();
  return { call, failing };
}

/** What a retry makes of a caller that gives up. */
export const RETRY_ABORTS: readonly Guarantee[] = [
  guarantee({
    id: 'retry-ends-its-wait-at-an-abort',
    policy: 'retry',
    sentence: 'A caller that gives up between two attempts has its rejection at once, and no attempt follows.',
    seen: 'HTTP clients: the abort was noticed when the wait was over, and one more request was sent',
    needs: ['retry'],
    check: async (stage) => {
      const { call, failing } = await leftBetweenAttempts(stage);
      assert.equal(call.state, 'rejected', 'the call waited on');
      await stage.clock.tick(10_000);
      assert.equal(failing.calls, 1, `the work ran ${counted(failing.calls, 'time')}`);
    },
    mutant: replacing('retry', (right) => hearing(right, 'while an attempt runs')),
  }),
  guarantee({
    id: 'retry-clears-its-timer-at-an-abort',
    policy: 'retry',
    sentence: 'No timer is left when a caller gives up between two attempts.',
    seen: 'HTTP clients: the process stays alive until the wait of a call that was given up is over',
    needs: ['retry'],
    check: async (stage) => {
      await leftBetweenAttempts(stage);
      assert.equal(stage.clock.timers, 0, `${counted(stage.clock.timers, 'timer')} left`);
    },
    mutant: replacing('retry', (right, { backoff }) => ({
      run: async (work, signal) => {
        try {
          return await right.run(work, signal);
        } catch (error) {
          if (signal?.aborted === true) setTimeout(() => {}, backoff.delayMs);
          throw error;
        }
      },
    })),
  }),
  guarantee({
    id: 'retry-does-not-repeat-an-abort',
    policy: 'retry',
    sentence:
      'A caller that gives up during an attempt that reacts has the reason itself at once, and no attempt follows.',
    seen: 'retry helpers to which an AbortError is a failure like any other',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const controller = new AbortController();
      const reason = new Error('the caller gave up');
      let calls = 0;
      const work: Work<never> = (attempt) => {
        calls += 1;
        return calls === 1 ? Promise.reject(new Error('failed')) : cooperative(controller.signal)(attempt);
      };
      const call = observe(library.retry({ attempts: 3, backoff: BACKOFF }).run(work, controller.signal));
      await clock.tick(BACKOFF.delayMs);
      assert.equal(calls, 2, 'there was no second attempt');
      controller.abort(reason);
      await clock.settle();
      assert.equal(call.state, 'rejected', 'the call goes on');
      await clock.tick(10_000);
      assert.equal(calls, 2, `the work ran ${counted(calls, 'time')}`);
      assertReason(library, call.error, { reason, what: 'the caller got' });
    },
    mutant: replacing('retry', (right) => hearing(right, 'between attempts')),
  }),
  guarantee({
    id: 'retry-keeps-nobody-for-work-that-hangs',
    policy: 'retry',
    sentence: 'A caller that gives up has its rejection at once also when the attempt that runs never reacts.',
    seen: 'cockatiel, p-retry: the signal is looked at between attempts, and one that hangs keeps its caller for good',
    needs: ['retry', 'signals'],
    check: async ({ library, clock }) => {
      const controller = new AbortController();
      const manual = new Manual();
      const call = observe(library.retry({ attempts: 3, backoff: BACKOFF }).run(manual.work, controller.signal));
      await clock.settle();
      manual.reject(0, new Error('failed'));
      await clock.tick(BACKOFF.delayMs);
      assert.equal(manual.calls, 2, 'there was no second attempt');
      controller.abort(new Error('the caller gave up'));
      await clock.settle();
      assert.equal(call.state, 'rejected', 'the call waits for work that hangs');
    },
    mutant: replacing('retry', (right) => ({
      run: async (work, signal) => {
        let running: Promise<unknown> = Promise.resolve();
        try {
          return await right.run((attempt) => {
            const result = (async () => work(attempt))();
            running = result.catch(() => {});
            return result;
          }, signal);
        } catch (error) {
          await running;
          throw error;
        }
      },
    })),
  }),
  guarantee({
    id: 'retry-starts-nothing-for-who-has-left',
    policy: 'retry',
    sentence: 'With a signal that has aborted already nothing runs, and its reason is the error.',
    seen: 'helpers that add a listener and never look: the event of an aborted signal does not come again',
    needs: ['retry', 'signals'],
    check: async ({ library, clock }) => {
      const reason = new Error('gave up before');
      const manual = new Manual();
      const policy = library.retry({ attempts: 3, backoff: BACKOFF });
      const call = observe(policy.run(manual.work, AbortSignal.abort(reason)));
      await clock.settle();
      assert.equal(manual.calls, 0, 'the work ran');
      assert.equal(call.state, 'rejected', `the call is ${call.state}`);
      assertReason(library, call.error, { reason, what: 'the caller got' });
    },
    mutant: replacing('retry', (right) => ({
      run: (work, signal) => right.run(work, signal?.aborted === true ? undefined : signal),
    })),
  }),
  guarantee({
    id: 'retry-tells-the-work-of-an-abort',
    policy: 'retry',
    sentence: 'The signal of the attempt that runs aborts with the caller’s reason itself.',
    seen: 'cockatiel: the reason was lost on the way down',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const controller = new AbortController();
      const reason = new Error('the caller gave up');
      const manual = new Manual();
      const policy = library.retry({ attempts: 3, backoff: { ...BACKOFF, delayMs: 10 } });
      void observe(policy.run(manual.work, controller.signal));
      await clock.settle();
      manual.reject(0, new Error('failed'));
      await clock.tick(BACKOFF.delayMs);
      assert.equal(manual.calls, 2, 'there was no second attempt');
      controller.abort(reason);
      await clock.settle();
      if (manual.signals[1] === undefined) throw new NotOffered('the work is given no signal');
      assert.equal(manual.signals[1].aborted, true, 'the signal of the work did not abort');
      assertReason(library, manual.signals[1].reason, { reason, what: 'the work was told' });
    },
    mutant: replacing('retry', (right) =>
      around(right, (work) => ({ signal }) => {
        const controller = new AbortController();
        signal?.addEventListener('abort', () => controller.abort(), { once: true });
        return work({ signal: controller.signal });
      }),
    ),
  }),
  guarantee({
    id: 'retry-leaves-no-listener',
    policy: 'retry',
    sentence: 'A signal that outlives many calls has no listener left of them.',
    seen: 'cockatiel, failsafe-go: one listener stayed for each attempt, until the warning of a leak',
    needs: ['retry', 'signals'],
    check: async ({ library, clock }) => {
      const { signal } = new AbortController();
      const listeners = watchListeners(signal);
      const policy = library.retry({ attempts: 3, backoff: BACKOFF });
      const calls = Array.from({ length: CALLS }, (_, at) =>
        observe(policy.run(new Unreliable(clock, at % 4).work, signal)),
      );
      await clock.tick(10_000);
      const ended = (how: string): number => calls.filter(({ state }) => state === how).length;
      // One of four fails once too often.
      assert.deepEqual(
        [ended('fulfilled'), ended('rejected')],
        [CALLS * 0.75, CALLS * 0.25],
        'calls ended before their last attempt, or not at all',
      );
      assert.equal(listeners(), 0, `${counted(listeners(), 'listener')} stayed`);
    },
    mutant: replacing('retry', (right) => ({
      run: (work, signal) =>
        right.run((attempt) => {
          signal?.addEventListener('abort', () => {}, { once: true });
          return work(attempt);
        }, signal),
    })),
  }),
];

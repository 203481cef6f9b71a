import assert from 'node:assert/strict';
import { DeadlineExceededError } from 'holdfast';
import type { Adapter, BackoffSpec, Policy } from '../adapter.js';
import { counted } from '../counted.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { replacing, rewrapping } from '../mutation.js';
import { Manual, observe, watchListeners } from '../observed.js';
import { assertReason } from '../reasons.js';
import { hanging, pause, Unreliable } from '../works.js';

const BUDGET_MS = 1_000;
const PAUSE = pause(100);
/** The first wait fits, the second does not. */
const TOO_LONG: BackoffSpec = { ...PAUSE, factor: 50, maxDelayMs: 5_000 };

/** A limit around the whole, which what is inside knows nothing of: it goes on behind it. */
function raced(ms: number): Policy {
  return {
    run: async (work, signal) => {
      signal?.throwIfAborted();
      let timer: NodeJS.Timeout | undefined;
      let leave: (() => void) | undefined;
      const over = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new DeadlineExceededError(ms, 'budget')), ms);
        leave = () => reject(signal?.reason as Error);
        signal?.addEventListener('abort', leave, { once: true });
      });
      try {
        return await Promise.race([work({ signal }), over]);
      } finally {
        clearTimeout(timer);
        if (leave !== undefined) signal?.removeEventListener('abort', leave);
      }
    },
  };
}

/** Our own library, which does something else where a budget is put around a retry. */
function withBudgetedRetry(
  change: (parts: { readonly ours: Required<Adapter>; readonly budget: Policy; readonly retry: Policy }) => Policy,
): (ours: Required<Adapter>) => Adapter {
  return rewrapping(({ ours, policies, kinds }) => {
    const [budget, ...inner] = policies;
    if (kinds[0] !== 'budget' || kinds[1] !== 'retry') return undefined;

    return change({ ours, budget: budget as Policy, retry: ours.wrap(...inner) });
  });
}

/** One limit over everything that a call does. */
export const BUDGET: readonly Guarantee[] = [
  guarantee({
    id: 'budget-is-for-all-attempts-together',
    policy: 'budget',
    sentence: 'Attempts and waits together end when the budget is over, with word that time ran out.',
    seen: 'HTTP clients: a timeout documented as the total held for each attempt',
    needs: ['budget', 'timeout', 'retry', 'wrap', 'isTimeout'],
    check: async ({ library, clock }) => {
      const retry = library.retry({ attempts: 10, backoff: PAUSE });
      // The fourth attempt begins after 900 ms.
      const call = observe(library.wrap(library.budget({ ms: BUDGET_MS }), retry, library.timeout(200)).run(hanging));
      await clock.tick(BUDGET_MS - 1);
      assert.equal(call.state, 'pending', 'it was rejected before its budget was over');
      await clock.tick(1);
      assert.equal(call.state, 'rejected', 'it goes on beyond its budget');
      assert.ok(library.isTimeout(call.error), `its error does not say that time ran out: ${String(call.error)}`);
    },
    // A budget for each attempt.
    mutant: withBudgetedRetry(({ budget, retry }) => ({
      run: (work, signal) => retry.run((attempt) => budget.run(work, attempt.signal), signal),
    })),
  }),
  guarantee({
    id: 'budget-does-not-wait-for-nothing',
    policy: 'budget',
    sentence: 'A wait that does not fit into what is left is not begun: the call fails now.',
    seen: 'retry helpers that look at their total only after the wait: five hours in place of five seconds',
    needs: ['budget', 'retry', 'wrap'],
    check: async ({ library, clock }) => {
      const retry = library.retry({ attempts: 3, backoff: TOO_LONG });
      const failing = new Unreliable(clock);
      const call = observe(library.wrap(library.budget({ ms: BUDGET_MS }), retry).run(failing.work));
      await clock.tick(PAUSE.delayMs);
      assert.equal(failing.calls, 2, 'a wait that fits was not begun');
      assert.equal(call.state, 'rejected', 'it waits, though no attempt can follow');
    },
    mutant: withBudgetedRetry(({ ours, budget, retry }) => ({
      run: async (work, signal) => {
        const startedAt = Date.now();
        let failed = 0;
        try {
          return await ours.wrap(budget, retry).run(async (attempt) => {
            try {
              return await work(attempt);
            } catch (error) {
              failed += 1;
              throw error;
            }
          }, signal);
        } catch (error) {
          // The rest of it is slept through.
          if (failed === 2 && !ours.isTimeout(error)) {
            await new Promise((resolve) => setTimeout(resolve, startedAt + BUDGET_MS - Date.now()));
          }
          throw error;
        }
      },
    })),
  }),
  guarantee({
    id: 'budget-keeps-the-real-error',
    policy: 'budget',
    sentence: 'When no further attempt fits, the caller gets the error of the last one itself.',
    seen: 'deadlines that hide what the dependency had answered behind their own error',
    needs: ['budget', 'retry', 'wrap'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const retry = library.retry({ attempts: 3, backoff: TOO_LONG });
      const call = observe(library.wrap(library.budget({ ms: BUDGET_MS }), retry).run(failing.work));
      await clock.tick(BUDGET_MS);
      assert.equal(call.state, 'rejected', 'it goes on beyond its budget');
      assert.ok(call.error === failing.errors[1], `the caller got ${String(call.error)}`);
    },
    mutant: withBudgetedRetry(({ ours, budget, retry }) => ({
      run: async (work, signal) => {
        try {
          return await ours.wrap(budget, retry).run(work, signal);
        } catch (error) {
          if (signal?.aborted === true) throw error;
          throw new DeadlineExceededError(BUDGET_MS, 'budget');
        }
      },
    })),
  }),
  guarantee({
    id: 'budget-starts-nothing-when-it-is-over',
    policy: 'budget',
    sentence: 'No attempt begins at its end or later.',
    seen: 'a race around a retry: the caller has its answer, and the retries go on behind it',
    needs: ['budget', 'retry', 'wrap'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const retry = library.retry({ attempts: 50, backoff: PAUSE });
      const call = observe(library.wrap(library.budget({ ms: BUDGET_MS }), retry).run(failing.work));
      await clock.tick(10 * BUDGET_MS);
      assert.equal(call.state, 'rejected', 'it goes on beyond its budget');
      const last = failing.startedAt.at(-1);
      assert.equal(last, BUDGET_MS - PAUSE.delayMs, `the last attempt began after ${last} ms`);
    },
    mutant: withBudgetedRetry(({ ours, budget, retry }) => ({
      run: async (work, signal) => {
        let attempts = 0;
        const counted: typeof work = (attempt) => {
          attempts += 1;
          return work(attempt);
        };
        try {
          return await ours.wrap(budget, retry).run(counted, signal);
        } catch (error) {
          // The attempt whose wait had begun is made all the same.
          if (attempts > 1 && !ours.isTimeout(error) && signal?.aborted !== true) {
            await new Promise((resolve) => setTimeout(resolve, PAUSE.delayMs));
            return await work({ signal });
          }
          throw error;
        }
      },
    })),
  }),
  guarantee({
    id: 'budget-cuts-the-attempt-that-runs',
    policy: 'budget',
    sentence: 'An attempt whose own limit is longer ends with the budget, and its signal aborts then.',
    seen: 'gateways: the answer is 504 by the deadline, and the calls behind it run to their own limits',
    needs: ['budget', 'timeout', 'wrap', 'isTimeout'],
    check: async ({ library, clock }) => {
      const manual = new Manual();
      const call = observe(
        library.wrap(library.budget({ ms: BUDGET_MS }), library.timeout(5 * BUDGET_MS)).run(manual.work),
      );
      await clock.tick(BUDGET_MS - 1);
      assert.equal(call.state, 'pending', 'it was rejected before its budget was over');
      assert.equal(manual.signals[0]?.aborted, false, 'the work has no signal, or one that aborted too early');
      await clock.tick(1);
      assert.equal(call.state, 'rejected', 'it goes on beyond its budget');
      assert.ok(library.isTimeout(call.error), `its error does not say that time ran out: ${String(call.error)}`);
      assert.equal(manual.signals[0]?.aborted, true, 'the work was not told');
    },
    mutant: (ours) => ({ ...ours, budget: ({ ms }) => raced(ms) }),
  }),
  guarantee({
    id: 'budget-leaves-the-limit-of-an-attempt',
    policy: 'budget',
    sentence: 'An attempt that hangs is cut at its own limit, and what is left of the budget serves the next one.',
    seen: 'clients with one setting for both limits: the first hanging attempt has all the time there is',
    needs: ['budget', 'timeout', 'retry', 'wrap'],
    check: async ({ library, clock }) => {
      const manual = new Manual();
      const retry = library.retry({ attempts: 3, backoff: PAUSE });
      const policy = library.wrap(library.budget({ ms: BUDGET_MS }), retry, library.timeout(300));
      const call = observe(policy.run(manual.work));
      await clock.tick(300 + PAUSE.delayMs);
      assert.equal(manual.calls, 2, `${counted(manual.calls, 'attempt')} began`);
      manual.resolve(1, 'done');
      await clock.settle();
      assert.equal(call.value, 'done', `the call is ${call.state}`);
    },
    mutant: rewrapping(({ ours, policies, kinds }) =>
      kinds[0] === 'budget' && kinds[1] === 'retry'
        ? ours.wrap(...policies.filter((_, at) => kinds[at] !== 'timeout'))
        : undefined,
    ),
  }),
  guarantee({
    id: 'budget-is-new-for-each-call',
    policy: 'budget',
    sentence: 'Each call has the whole of it, however long the policy has been there.',
    seen: 'deadlines computed when they are configured: from then on every call comes too late',
    needs: ['budget'],
    check: async ({ library, clock }) => {
      const policy = library.budget({ ms: BUDGET_MS });
      const before = observe(policy.run(hanging));
      await clock.tick(5 * BUDGET_MS);
      assert.equal(before.state, 'rejected', 'it goes on beyond its budget');
      const manual = new Manual();
      const call = observe(policy.run(manual.work));
      await clock.tick(BUDGET_MS - 1);
      assert.equal(call.state, 'pending', 'the second call had less than the first');
      manual.resolve(0, 'done');
      await clock.settle();
      assert.equal(call.value, 'done', `the second call is ${call.state}`);
    },
    mutant: (ours) => ({
      ...ours,
      budget: ({ ms }) => {
        const endsAt = Date.now() + ms;
        return {
          run: (work, signal) => ours.budget({ ms: Math.max(1, endsAt - Date.now()) }).run(work, signal),
        };
      },
    }),
  }),
  guarantee({
    id: 'budget-leaves-nothing',
    policy: 'budget',
    sentence: 'Once a call has settled, or its caller has given up, neither timer nor listener is left of it.',
    seen: 'deadlines on a long-lived parent: a timer and a listener stayed for each call until its time was over',
    needs: ['budget', 'signals'],
    check: async ({ library, clock }) => {
      const controller = new AbortController();
      const listeners = watchListeners(controller.signal);
      const policy = library.budget({ ms: BUDGET_MS });
      const settled = [() => 'done', new Unreliable(clock).work, hanging].map((work) =>
        observe(policy.run<unknown>(work, controller.signal)),
      );
      await clock.tick(BUDGET_MS);
      assert.ok(
        settled.every(({ state }) => state !== 'pending'),
        'a call goes on',
      );
      assert.deepEqual(
        [clock.timers, listeners()],
        [0, 0],
        `${counted(clock.timers, 'timer')}, ${counted(listeners(), 'listener')} stayed`,
      );
      void observe(policy.run(hanging, controller.signal));
      await clock.settle();
      controller.abort(new Error('the caller gave up'));
      await clock.settle();
      assert.equal(clock.timers, 0, `${counted(clock.timers, 'timer')} stayed when the caller gave up`);
    },
    mutant: replacing('budget', (right, { ms }) => ({
      run: (work, signal) => {
        setTimeout(() => {}, ms);
        return right.run(work, signal);
      },
    })),
  }),
  guarantee({
    id: 'budget-is-not-what-the-caller-did',
    policy: 'budget',
    sentence: 'A caller that gives up gets its reason itself, at once, and not word of a deadline.',
    seen: 'gateways: clients that left were counted as deadlines of the dependency',
    needs: ['budget', 'isTimeout'],
    check: async ({ library, clock }) => {
      const controller = new AbortController();
      const reason = new Error('the caller gave up');
      const call = observe(library.budget({ ms: BUDGET_MS }).run(hanging, controller.signal));
      await clock.tick(20);
      controller.abort(reason);
      await clock.settle();
      assert.equal(call.state, 'rejected', 'the call goes on');
      assert.equal(library.isTimeout(call.error), false, 'it was reported as a deadline');
      assertReason(library, call.error, { reason, what: 'the caller got' });
    },
    mutant: replacing('budget', (right, { ms }) => ({
      run: async (work, signal) => {
        try {
          return await right.run(work, signal);
        } catch (error) {
          throw signal?.aborted === true ? new DeadlineExceededError(ms, 'budget') : error;
        }
      },
    })),
  }),
];

import assert from 'node:assert/strict';
import type { Policy } from '../adapter.js';
import { counted } from '../counted.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { around, rewrapping } from '../mutation.js';
import { Manual, observe, watchListeners } from '../observed.js';
import { assertReason, isWordOf } from '../reasons.js';
import { BREAKER, hanging, pause, Unreliable } from '../works.js';

const LIMIT_MS = 100;
const PAUSE = pause(30);
const ATTEMPTS = 3;
const ANSWER = 'the second-best answer';
const answer = (): string => ANSWER;

/** What policies are to each other. */
export const WRAP: readonly Guarantee[] = [
  guarantee({
    id: 'wrap-puts-the-first-outermost',
    policy: 'wrap',
    sentence:
      'The first policy is the outermost: around a retry a fallback comes last, inside of it after each attempt.',
    seen: 'libraries that compose from the inside out, against what their readers expect',
    needs: ['retry', 'fallback', 'wrap'],
    check: async ({ library, clock }) => {
      for (const [outermost, attempts] of [
        ['fallback', ATTEMPTS],
        ['retry', 1],
      ] as const) {
        const failing = new Unreliable(clock);
        const retry = library.retry({ attempts: ATTEMPTS, backoff: PAUSE });
        const fallback = library.fallback({ answer });
        const policies = outermost === 'fallback' ? [fallback, retry] : [retry, fallback];
        const call = observe(library.wrap(...policies).run(failing.work));
        await clock.tick(1_000);
        assert.equal(call.value, ANSWER, `with the ${outermost} outermost the call is ${call.state}`);
        assert.equal(
          failing.calls,
          attempts,
          `with the ${outermost} outermost the work ran ${counted(failing.calls, 'time')}`,
        );
      }
    },
    mutant: rewrapping(({ ours, policies, kinds }) =>
      kinds.includes('fallback') && kinds.includes('retry') ? ours.wrap(...policies.toReversed()) : undefined,
    ),
  }),
  guarantee({
    id: 'wrap-keeps-to-the-order-given',
    policy: 'wrap',
    sentence: 'A breaker inside a retry counts attempts, outside of it calls.',
    seen: 'libraries with an order of their own, whatever their users ask for',
    needs: ['retry', 'breaker', 'wrap'],
    check: async ({ library, clock }) => {
      for (const [outermost, expected] of [
        ['retry', 'open'],
        ['breaker', 'closed'],
      ] as const) {
        const retry = library.retry({ attempts: ATTEMPTS, backoff: PAUSE });
        const breaker = library.breaker({ ...BREAKER, minimumCalls: ATTEMPTS, openMs: 60_000 });
        const policies = outermost === 'retry' ? [retry, breaker] : [breaker, retry];
        void observe(library.wrap(...policies).run(new Unreliable(clock).work));
        await clock.tick(1_000);
        assert.equal(breaker.state(), expected, `with the ${outermost} outermost the breaker is ${breaker.state()}`);
      }
    },
    mutant: rewrapping(({ ours, policies, kinds }) =>
      kinds[0] === 'breaker' && kinds[1] === 'retry' ? ours.wrap(...policies.toReversed()) : undefined,
    ),
  }),
  guarantee({
    id: 'wrap-limits-each-attempt-from-inside',
    policy: 'wrap',
    sentence: 'A timeout inside a retry is the limit of each attempt, and its end is a failure that is retried.',
    seen: 'clients with one setting for both limits: what was meant for an attempt held for all of them',
    needs: ['retry', 'timeout', 'wrap', 'isTimeout'],
    check: async ({ library, clock }) => {
      const manual = new Manual();
      const retry = library.retry({ attempts: ATTEMPTS, backoff: PAUSE });
      const call = observe(library.wrap(retry, library.timeout(LIMIT_MS)).run(manual.work));
      await clock.tick(ATTEMPTS * LIMIT_MS + 2 * PAUSE.delayMs - 1);
      assert.equal(manual.calls, ATTEMPTS, `the work ran ${counted(manual.calls, 'time')}`);
      assert.equal(call.state, 'pending', 'the last attempt had less time than the others');
      await clock.tick(1);
      assert.equal(call.state, 'rejected', 'the last attempt had more time than the others');
      assert.ok(library.isTimeout(call.error), `its error does not say that time ran out: ${String(call.error)}`);
    },
    mutant: rewrapping(({ ours, policies, kinds }) =>
      kinds.length === 2 && kinds[0] === 'retry' && kinds[1] === 'timeout'
        ? ours.wrap(...policies.toReversed())
        : undefined,
    ),
  }),
  guarantee({
    id: 'wrap-limits-all-attempts-from-outside',
    policy: 'wrap',
    sentence: 'A timeout around a retry is the limit of all attempts and waits together, and nothing begins after it.',
    seen: 'HTTP clients: a timeout documented as the total began again with each attempt',
    needs: ['retry', 'timeout', 'wrap', 'isTimeout'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const retry = library.retry({ attempts: 50, backoff: PAUSE });
      const call = observe(library.wrap(library.timeout(LIMIT_MS), retry).run(failing.work));
      await clock.tick(LIMIT_MS - 1);
      assert.equal(call.state, 'pending', 'it was rejected before its limit');
      await clock.tick(1);
      assert.ok(library.isTimeout(call.error), `at the limit the call is ${call.state}`);
      const { calls } = failing;
      await clock.tick(10 * LIMIT_MS);
      assert.equal(failing.calls, calls, `${counted(failing.calls - calls, 'attempt')} began after the limit`);
    },
    mutant: rewrapping(({ ours, policies, kinds }) =>
      kinds[0] === 'timeout' && kinds[1] === 'retry' ? ours.wrap(...policies.toReversed()) : undefined,
    ),
  }),
  guarantee({
    id: 'wrap-gives-each-attempt-a-signal-of-its-own',
    policy: 'wrap',
    sentence: 'When an attempt was cut by its limit, the signal of the next one has not aborted.',
    seen: 'hand-written helpers: one controller for all attempts, so that each retry is dead on arrival',
    needs: ['retry', 'timeout', 'wrap'],
    check: async ({ library, clock }) => {
      const manual = new Manual();
      const retry = library.retry({ attempts: ATTEMPTS, backoff: PAUSE });
      void observe(library.wrap(retry, library.timeout(LIMIT_MS)).run(manual.work));
      await clock.tick(LIMIT_MS + PAUSE.delayMs);
      assert.equal(manual.calls, 2, `the work ran ${counted(manual.calls, 'time')}`);
      assert.notEqual(manual.signals[1]?.aborted, true, 'the signal of the second attempt has aborted too');
    },
    mutant: rewrapping(({ ours, policies, kinds }) =>
      kinds.includes('retry') && kinds.includes('timeout') ? sharing(ours.wrap(...policies)) : undefined,
    ),
  }),
  guarantee({
    id: 'wrap-passes-a-reason-through-every-layer',
    policy: 'wrap',
    sentence: 'The reason of a caller that gives up is what the work’s signal and the caller get, by identity.',
    seen: 'cockatiel: the reason was lost on the way down, and AbortErrors came out',
    needs: ['retry', 'timeout', 'fallback', 'wrap'],
    check: async ({ library, clock }) => {
      const controller = new AbortController();
      const reason = new Error('the caller gave up');
      const manual = new Manual();
      const retry = library.retry({ attempts: ATTEMPTS, backoff: PAUSE });
      // Some libraries have a word of their own for whoever has gone.
      const handleIf = (error: unknown): boolean => error !== reason && !isWordOf(library, error);
      const fallback = library.fallback({ answer, handleIf });
      const policy = library.wrap(fallback, retry, library.timeout(LIMIT_MS));
      const call = observe(policy.run(manual.work, controller.signal));
      await clock.settle();
      controller.abort(reason);
      await clock.settle();
      assert.equal(call.state, 'rejected', `the call is ${call.state}`);
      assertReason(library, call.error, { reason, what: 'the caller got' });
      assertReason(library, manual.signals[0]?.reason, { reason, what: 'the work was told' });
    },
    mutant: rewrapping(({ ours, policies }) =>
      policies.length < 3
        ? undefined
        : around(ours.wrap(...policies), (work) => ({ signal }) => {
            const controller = new AbortController();
            signal?.addEventListener('abort', () => controller.abort(), { once: true });
            return work({ signal: controller.signal });
          }),
    ),
  }),
  guarantee({
    id: 'wrap-keeps-calls-of-shared-parts-apart',
    policy: 'wrap',
    sentence: 'A policy can be part of several wraps: each of them keeps to its own parts.',
    seen: 'wraps that write the next policy into the one before: the wrap made last wins',
    needs: ['retry', 'timeout', 'wrap'],
    check: async ({ library, clock }) => {
      const retry = library.retry({ attempts: 1, backoff: PAUSE });
      const quick = library.wrap(retry, library.timeout(LIMIT_MS));
      const patient = library.wrap(retry, library.timeout(2 * LIMIT_MS));
      const calls = [observe(quick.run(hanging)), observe(patient.run(hanging)), observe(retry.run(hanging))];
      await clock.tick(LIMIT_MS);
      assert.deepEqual(
        calls.map(({ state }) => state),
        ['rejected', 'pending', 'pending'],
        `at the limit of the first the calls are ${calls.map(({ state }) => state).join(', ')}`,
      );
      await clock.tick(LIMIT_MS);
      assert.deepEqual(
        calls.map(({ state }) => state),
        ['rejected', 'rejected', 'pending'],
      );
    },
    mutant: (ours) => {
      const next = new WeakMap<Policy, Policy>();

      return rewrapping(({ policies }) => {
        const [outer, ...inner] = policies as [Policy, ...Policy[]];
        if (inner.length === 0) return undefined;
        next.set(outer, ours.wrap(...inner));
        return {
          run: (work, signal) =>
            outer.run((attempt) => (next.get(outer) as Policy).run(work, attempt.signal ?? signal), signal),
        };
      })(ours);
    },
  }),
  guarantee({
    id: 'wrap-can-be-wrapped',
    policy: 'wrap',
    sentence: 'A wrap inside another one counts with all its parts, in their order.',
    seen: 'compositions that flatten what they are given, and lose or turn round the inner parts',
    needs: ['retry', 'timeout', 'fallback', 'wrap'],
    check: async ({ library, clock }) => {
      const manual = new Manual();
      const retry = library.retry({ attempts: ATTEMPTS, backoff: PAUSE });
      const inner = library.wrap(retry, library.timeout(LIMIT_MS));
      const call = observe(library.wrap(library.fallback({ answer }), inner).run(manual.work));
      await clock.tick(ATTEMPTS * (LIMIT_MS + PAUSE.delayMs));
      assert.equal(manual.calls, ATTEMPTS, `the work ran ${counted(manual.calls, 'time')}`);
      assert.equal(call.value, ANSWER, `the call is ${call.state}`);
    },
    mutant: (ours) => {
      const firsts = new WeakMap<Policy, Policy>();

      return rewrapping(({ policies }) => {
        const made = ours.wrap(...policies.map((policy) => firsts.get(policy) ?? policy));
        firsts.set(made, policies[0] as Policy);
        return made;
      })(ours);
    },
  }),
  guarantee({
    id: 'wrap-leaves-nothing',
    policy: 'wrap',
    sentence: 'Once its calls have settled, neither timer nor listener is left by any layer.',
    seen: 'composite signals: every layer hung a listener on a signal that outlives the call, and memory grew',
    needs: ['retry', 'timeout', 'wrap', 'signals'],
    check: async ({ library, clock }) => {
      const { signal } = new AbortController();
      const listeners = watchListeners(signal);
      const retry = library.retry({ attempts: 2, backoff: PAUSE });
      const policy = library.wrap(library.timeout(10 * LIMIT_MS), retry, library.timeout(LIMIT_MS));
      const works = [() => 'done', new Unreliable(clock, 1).work, new Unreliable(clock).work, hanging];
      const calls = works.map((work) => observe(policy.run<unknown>(work, signal)));
      await clock.tick(2 * LIMIT_MS + PAUSE.delayMs);
      assert.ok(
        calls.every(({ state }) => state !== 'pending'),
        'a call goes on',
      );
      assert.deepEqual(
        [clock.timers, listeners()],
        [0, 0],
        `${counted(clock.timers, 'timer')}, ${counted(listeners(), 'listener')} stayed`,
      );
    },
    mutant: rewrapping(({ ours, policies }) => ({
      run: (work, signal) => {
        policies.forEach(() => signal?.addEventListener('abort', () => {}, { once: true }));
        return ours.wrap(...policies).run(work, signal);
      },
    })),
  }),
];

/** The policy, with one controller for all attempts of a call. */
function sharing(right: Policy): Policy {
  return {
    run: (work, signal) => {
      const shared = new AbortController();

      return right.run(({ signal: own }) => {
        own?.addEventListener('abort', () => shared.abort(own.reason), { once: true });
        return work({ signal: shared.signal });
      }, signal);
    },
  };
}

import assert from 'node:assert/strict';
import type { Policy } from '../adapter.js';
import { counted } from '../counted.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { around, reading, replacing } from '../mutation.js';
import { observe } from '../observed.js';
import { assertReason } from '../reasons.js';
import type { VirtualClock } from '../virtual-clock.js';
import { cooperative, failing, hanging, Unreliable } from '../works.js';

const ANSWER = 'the second-best answer';
const answer = (): string => ANSWER;
const FALSY: readonly unknown[] = [undefined, null, 0, false, ''];

/** That a policy which left something alone answers at all. */
async function assertAnswers(policy: Policy, clock: VirtualClock): Promise<void> {
  const call = observe(policy.run<string>(failing));
  await clock.settle();
  assert.equal(call.value, ANSWER, `of a call that failed it made ${call.state}`);
}

export const FALLBACK: readonly Guarantee[] = [
  guarantee({
    id: 'fallback-answers-with-what-is-falsy',
    policy: 'fallback',
    sentence: 'Any value can be the answer: `undefined`, `null`, 0, `false` and the empty string too.',
    seen: 'hand-written fallbacks that test the answer instead of whether there is one',
    needs: ['fallback'],
    check: async ({ library, clock }) => {
      for (const value of FALSY) {
        const call = observe(library.fallback({ answer: () => value }).run(new Unreliable(clock).work));
        await clock.settle();
        assert.equal(call.state, 'fulfilled', `with ${String(value)} the call is ${call.state}`);
        assert.ok(call.value === value, `instead of ${String(value)} it gave ${String(call.value)}`);
      }
    },
    mutant: reading('fallback', (spec) => ({
      ...spec,
      answer: () => {
        const value = spec.answer();
        if (!value) throw new Error('no fallback');
        return value;
      },
    })),
  }),
  guarantee({
    id: 'fallback-leaves-results-that-are-falsy',
    policy: 'fallback',
    sentence: 'A result is never replaced, also when it is `undefined`, `null`, 0, `false` or empty.',
    seen: 'hand-written fallbacks of the form (await work()) ?? answer',
    needs: ['fallback'],
    check: async ({ library, clock }) => {
      for (const value of FALSY) {
        const policy = library.fallback({ answer });
        const call = observe(policy.run(() => value));
        await clock.settle();
        assert.equal(call.state, 'fulfilled', `with ${String(value)} the call is ${call.state}`);
        assert.ok(call.value === value, `${String(value)} became ${String(call.value)}`);
        await assertAnswers(policy, clock);
      }
    },
    mutant: replacing('fallback', (right, spec) => ({
      run: async (work, signal) => (await right.run(work, signal)) ?? (spec.answer() as never),
    })),
  }),
  guarantee({
    id: 'fallback-leaves-excluded-errors',
    policy: 'fallback',
    sentence: 'An error that it is not for reaches the caller itself.',
    seen: 'opossum: the fallback replaces errors that its filter had excluded',
    needs: ['fallback'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const policy = library.fallback({ answer, handleIf: (error) => error !== failing.errors[0] });
      const call = observe(policy.run(failing.work));
      await clock.settle();
      assert.equal(call.state, 'rejected', `the call is ${call.state}`);
      assert.ok(call.error === failing.errors[0], `the caller got ${String(call.error)}`);
      await assertAnswers(policy, clock);
    },
    mutant: reading('fallback', (spec) => ({ answer: spec.answer })),
  }),
  guarantee({
    id: 'fallback-does-not-answer-when-its-predicate-throws',
    policy: 'fallback',
    sentence: 'A predicate that throws fails the call, and nothing is made up.',
    seen: 'fallbacks that take a predicate’s bug for a yes and hide it for good',
    needs: ['fallback'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const handleIf = (error: unknown): boolean => {
        if (error === failing.errors[0]) throw new Error('a bug in the predicate');
        return true;
      };
      const policy = library.fallback({ answer, handleIf });
      const call = observe(policy.run(failing.work));
      await clock.settle();
      assert.equal(call.state, 'rejected', `the call is ${call.state}`);
      await assertAnswers(policy, clock);
    },
    mutant: reading('fallback', ({ answer: given, handleIf = () => true }) => ({
      answer: given,
      handleIf: (error) => {
        try {
          return handleIf(error);
        } catch {
          return true;
        }
      },
    })),
  }),
  guarantee({
    id: 'fallback-shows-its-own-failure',
    policy: 'fallback',
    sentence: 'When the answer itself fails the caller gets that error, and it was asked for once.',
    seen: 'fallback chains that end in an empty answer, or ask their failing last resort again',
    needs: ['fallback'],
    check: async ({ library, clock }) => {
      const own = new Error('the cache is down too');
      let asked = 0;
      const failingAnswer = async (): Promise<never> => {
        asked += 1;
        throw own;
      };
      const call = observe(library.fallback({ answer: failingAnswer }).run(new Unreliable(clock).work));
      await clock.settle();
      assert.equal(call.state, 'rejected', `the call is ${call.state}`);
      assert.ok(call.error === own, `the caller got ${String(call.error)}`);
      assert.equal(asked, 1, `the answer was asked for ${counted(asked, 'time')}`);
    },
    mutant: reading('fallback', (spec) => ({
      ...spec,
      answer: async () => {
        try {
          return await spec.answer();
        } catch {
          return undefined;
        }
      },
    })),
  }),
  guarantee({
    id: 'fallback-answers-synchronous-failures',
    policy: 'fallback',
    sentence: 'Work that throws before it returns a promise is answered for as well.',
    seen: 'hand-written fallbacks of the form work().catch(answer)',
    needs: ['fallback'],
    check: async ({ library, clock }) => {
      const call = observe(
        library.fallback({ answer }).run((): string => {
          throw new Error('before any promise');
        }),
      );
      await clock.settle();
      assert.equal(call.value, ANSWER, `the call is ${call.state}`);
    },
    mutant: (ours) => ({
      ...ours,
      fallback: ({ handleIf = () => true, ...spec }) => {
        const synchronous = new Set<unknown>();
        const right = ours.fallback({ ...spec, handleIf: (error) => !synchronous.has(error) && handleIf(error) });
        return around(right, (work) => (attempt) => {
          try {
            return work(attempt);
          } catch (error) {
            synchronous.add(error);
            throw error;
          }
        });
      },
    }),
  }),
  guarantee({
    id: 'fallback-answers-for-timeouts',
    policy: 'fallback',
    sentence: 'Around a timeout it answers when the limit is over.',
    seen: 'fallbacks bound to the work, which the refusals and limits between them pass by',
    needs: ['fallback', 'timeout', 'wrap'],
    check: async ({ library, clock }) => {
      const call = observe(library.wrap(library.fallback({ answer }), library.timeout(100)).run(hanging));
      await clock.tick(100);
      assert.equal(call.value, ANSWER, `the call is ${call.state}`);
    },
    mutant: (ours) => ({
      ...ours,
      fallback: ({ handleIf = () => true, ...spec }) =>
        ours.fallback({ ...spec, handleIf: (error) => !ours.isTimeout(error) && handleIf(error) }),
    }),
  }),
  guarantee({
    id: 'fallback-makes-nothing-up-for-who-has-left',
    policy: 'fallback',
    sentence: 'A call whose caller gave it up rejects with that reason and is not answered.',
    seen: 'gateways that go on to load a second-best answer for clients that have left',
    needs: ['fallback'],
    check: async ({ library, clock }) => {
      const controller = new AbortController();
      let asked = 0;
      const counted = (): string => {
        asked += 1;
        return ANSWER;
      };
      const policy = library.fallback({ answer: counted });
      const call = observe(policy.run(cooperative(controller.signal), controller.signal));
      await clock.settle();
      // As most callers do, with the reason that filters of errors know.
      controller.abort();
      await clock.settle();
      assert.equal(asked, 0, 'an answer was made up');
      assert.equal(call.state, 'rejected', `the call is ${call.state}`);
      await assertAnswers(policy, clock);
      assertReason(library, call.error, { reason: controller.signal.reason, what: 'the caller got' });
    },
    mutant: replacing('fallback', (right, spec) => ({
      run: async (work, signal) => {
        try {
          return await right.run(work, signal);
        } catch (error) {
          if (signal?.aborted !== true) throw error;
          return spec.answer() as never;
        }
      },
    })),
  }),
];

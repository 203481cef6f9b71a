import assert from 'node:assert/strict';
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { Policy } from '../adapter.js';
import { OwnPolicy } from '../adapters/holdfast.js';
import { counted } from '../counted.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { around, rewrapping } from '../mutation.js';
import { Manual, observe } from '../observed.js';
import { assertSlots, pause, Unreliable } from '../works.js';

const PAUSE = pause(30);

/** What policies that keep state, and callers that do, are to those around them. */
export const WRAP_SLOTS: readonly Guarantee[] = [
  guarantee({
    id: 'wrap-gives-the-slot-back-between-attempts',
    policy: 'wrap',
    sentence: 'A retry around a bulkhead holds no slot while it waits, and takes one for each attempt.',
    seen: 'nestjs-resilience: a retry around a bulkhead gave back more slots than it had taken',
    needs: ['retry', 'bulkhead', 'wrap'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 1 });
      const failing = new Unreliable(clock, 2);
      const call = observe(library.wrap(library.retry({ attempts: 3, backoff: PAUSE }), bulkhead).run(failing.work));
      await clock.settle();
      assert.equal(bulkhead.running(), 0, `between two attempts ${bulkhead.running()} slots are taken`);
      await clock.tick(2 * PAUSE.delayMs);
      assert.equal(call.value, 'done', `after ${counted(failing.calls, 'attempt')} the call is ${call.state}`);
      assert.equal(bulkhead.running(), 0, `afterwards ${bulkhead.running()} slots are taken`);
      await assertSlots(bulkhead, { clock, slots: 1 });
    },
    mutant: rewrapping(({ policies: [outer, inner], kinds }) =>
      kinds[0] === 'retry' && kinds[1] === 'bulkhead' ? holding(outer as Policy, inner as Policy) : undefined,
    ),
  }),
  guarantee({
    id: 'wrap-retries-leave-nobody-behind-in-the-queue',
    policy: 'wrap',
    sentence: 'A caller that gives up while its attempt is queued leaves at once, and the attempt never runs.',
    seen: 'nestjs-resilience: an entry whose caller had unsubscribed still ran when its turn came',
    needs: ['retry', 'bulkhead', 'wrap'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 1, queue: 5 });
      const policy = library.wrap(library.retry({ attempts: 3, backoff: PAUSE }), bulkhead);
      const manual = new Manual();
      void observe(policy.run(manual.work));
      await clock.settle();
      const controller = new AbortController();
      const queued = observe(policy.run(manual.work, controller.signal));
      await clock.settle();
      controller.abort(new Error('the caller gave up'));
      await clock.settle();
      assert.equal(queued.state, 'rejected', 'it stays in the queue');
      assert.equal(bulkhead.waiting(), 0, 'its place in the queue stayed taken');
      manual.resolve(0, 'done');
      await clock.tick(1_000);
      assert.equal(manual.calls, 1, `the work ran ${counted(manual.calls, 'time')}`);
    },
    mutant: rewrapping(({ policies: [outer, inner], kinds }) =>
      kinds[0] === 'retry' && kinds[1] === 'bulkhead' ? deaf(outer as Policy, inner as Policy) : undefined,
    ),
  }),
  guarantee({
    id: 'wrap-keeps-the-context-of-the-caller',
    policy: 'wrap',
    sentence: 'Every attempt runs in its caller’s asynchronous context, also after a wait and from a queue.',
    seen: 'queues that run their entries in the context of whoever freed the slot: one user’s request as another’s',
    needs: ['retry', 'bulkhead', 'wrap'],
    check: async ({ library, clock }) => {
      const users = new AsyncLocalStorage<string>();
      const seen: Record<string, (string | undefined)[]> = { ada: [], ben: [] };
      const policy = library.wrap(
        library.retry({ attempts: 2, backoff: PAUSE }),
        library.bulkhead({ limit: 1, queue: 5 }),
      );
      for (const user of ['ada', 'ben']) {
        const work = async (): Promise<void> => {
          seen[user]?.push(users.getStore());
          await new Promise((resolve) => setTimeout(resolve, PAUSE.delayMs / 2));
          if (seen[user]?.length === 1) throw new Error('failed');
        };
        users.run(user, () => void observe(policy.run(work)));
      }
      await clock.tick(1_000);
      assert.deepEqual(
        seen,
        { ada: ['ada', 'ada'], ben: ['ben', 'ben'] },
        `the attempts ran as ${JSON.stringify(seen)}`,
      );
    },
    mutant: rewrapping(({ ours, policies, kinds }) => {
      if (kinds[0] !== 'retry' || kinds[1] !== 'bulkhead') return undefined;
      // That of whoever put the policies together.
      const own = new AsyncResource('wrap');
      return around(ours.wrap(...policies), (work) => (attempt) => own.runInAsyncScope(work, undefined, attempt));
    }),
  }),
];

/** Each attempt keeps its slot until the whole call is over. */
function holding(retry: Policy, bulkhead: Policy): Policy {
  return {
    run: async (work, signal) => {
      let finish: () => void = () => {};
      const over = new Promise<void>((resolve) => (finish = resolve));
      try {
        return await retry.run(
          (attempt) =>
            new Promise((resolve, reject) => {
              const slot = bulkhead.run(async () => {
                await Promise.resolve(attempt).then(work).then(resolve, reject);
                await over;
              }, signal);
              slot.catch(reject);
            }),
          signal,
        );
      } finally {
        finish();
      }
    },
  };
}

/** Callers are let go, and their places in the queue are not. */
function deaf(retry: Policy, bulkhead: Policy): Policy {
  if (!(bulkhead instanceof OwnPolicy)) return bulkhead;

  return {
    run: (work, signal) =>
      retry.run((attempt) => bulkhead.policy.execute(() => work(attempt), { detached: true }), signal),
  };
}

import assert from 'node:assert/strict';
import { NotOffered, type BulkheadPolicy, type Work } from '../adapter.js';
import { elementSteps } from '../element-steps.js';
import { guarantee, type Guarantee, type Stage } from '../guarantee.js';
import { Manual, observe, watchListeners } from '../observed.js';
import { assertReason } from '../reasons.js';
import { TextbookBulkhead, withBulkhead, type Waiter } from '../textbook/bulkhead.js';
import { started, untilAbort } from '../textbook/running.js';
import { fine, hanging } from '../works.js';

/** More turns than any library takes from the end of one call to the start of the next. */
const TURNS = 30;

/** A call that its caller gives up while it waits for the only slot, with another one behind it. */
async function leftInQueue({ library, clock }: Stage) {
  const bulkhead = library.bulkhead({ limit: 1, queue: 2 });
  const [first, waiter] = [new Manual(), new Manual()];
  const reason = new Error('the caller left');
  const controller = new AbortController();
  void observe(bulkhead.run(first.work));
  const call = observe(bulkhead.run(waiter.work, controller.signal));
  const next = observe(bulkhead.run(fine));
  await clock.settle();
  assert.equal(bulkhead.waiting(), 2, `${bulkhead.waiting()} of 2 calls wait`);
  controller.abort(reason);
  await clock.settle();
  return { bulkhead, first, waiter, call, next, reason };
}

interface Moment {
  readonly bulkhead: BulkheadPolicy;
  /** The only call in the queue. */
  readonly second: Manual;
  readonly controller: AbortController;
  /** For the report. */
  readonly when: string;
}

/** At each moment between the end of the work that had the only slot, and long after the next one had to begin. */
async function atEachMoment({ library, clock }: Stage, then: (moment: Moment) => Promise<void>): Promise<void> {
  for (let turns = 0; turns < TURNS; turns += 1) {
    const bulkhead = library.bulkhead({ limit: 1, queue: 5 });
    const [first, second] = [new Manual(), new Manual()];
    const controller = new AbortController();
    void observe(bulkhead.run(first.work));
    void observe(bulkhead.run(second.work, controller.signal));
    await clock.settle();
    assert.equal(second.calls, 0, 'two calls ran at once, and the limit is 1');
    first.resolve(0, 'fine');
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    await then({ bulkhead, second, controller, when: `in turn ${turns} after the work had ended` });
  }
}

/** Who waits for a slot of a bulkhead, in which order, and who no longer does. */
export const BULKHEAD_QUEUE: readonly Guarantee[] = [
  guarantee({
    id: 'bulkhead-first-come-first-served',
    policy: 'bulkhead',
    sentence: 'Calls in the queue start in the order in which they came.',
    seen: 'pools that hand out from a stack: under load the oldest waiter starves',
    needs: ['bulkhead'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 1, queue: 10 });
      const manual = new Manual();
      void observe(bulkhead.run(manual.work));
      const order: number[] = [];
      const calls = [0, 1, 2, 3, 4].map((call) => observe(bulkhead.run(() => void order.push(call))));
      await clock.settle();
      assert.equal(bulkhead.waiting(), 5, `${bulkhead.waiting()} of 5 calls wait`);
      manual.resolve(0, 'fine');
      await clock.settle();
      assert.equal(calls.filter(({ state }) => state === 'fulfilled').length, 5, 'a call in the queue never ran');
      assert.deepEqual(order, [0, 1, 2, 3, 4], `they started in the order ${order.join(', ')}`);
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override next(): Waiter | undefined {
          return [...this.line].at(-1);
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-nobody-overtakes',
    policy: 'bulkhead',
    sentence: 'A slot that becomes free goes to the queue, not to whoever calls at that moment.',
    seen: 'hand-written semaphores: a newcomer takes the slot before the one that was woken for it',
    needs: ['bulkhead'],
    check: async (stage) => {
      await atEachMoment(stage, async ({ bulkhead, second, when }) => {
        const newcomer = new Manual();
        void observe(bulkhead.run(newcomer.work));
        await stage.clock.settle();
        assert.deepEqual(
          [second.calls, newcomer.calls],
          [1, 0],
          `a call that came ${when} went before the one in line`,
        );
      });
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        // Free for a moment, until the event loop comes round to waking somebody.
        protected override release(): void {
          this.taken -= 1;
          setImmediate(() => {
            const next = this.next();
            if (next === undefined || !this.isFree()) return;

            this.taken += 1;
            this.line.delete(next);
            next.grant();
          });
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-abort-leaves-the-queue',
    policy: 'bulkhead',
    sentence: 'A call that is aborted in the queue leaves it at once and frees its place.',
    seen: 'cockatiel: the abort of a call that waits is noticed only when its turn comes',
    needs: ['bulkhead'],
    check: async (stage) => {
      const { bulkhead, call } = await leftInQueue(stage);
      assert.equal(call.state, 'rejected', 'its abort was not noticed while it waited');
      assert.equal(bulkhead.waiting(), 1, 'it kept its place in the queue');
      const another = observe(bulkhead.run(fine));
      await stage.clock.settle();
      assert.equal(another.state, 'pending', 'its place in the queue was not free for another');
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override turn(): Promise<void> {
          return super.turn(undefined);
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-aborted-waiters-never-run',
    policy: 'bulkhead',
    sentence: 'A call that was aborted in the queue never runs, and costs the next one nothing.',
    seen: 'nestjs-resilience: an entry that was unsubscribed from still runs when its turn comes',
    needs: ['bulkhead'],
    check: async (stage) => {
      const { first, waiter, next } = await leftInQueue(stage);
      first.resolve(0, 'fine');
      await stage.clock.settle();
      assert.equal(waiter.calls, 0, 'an aborted call ran when its turn came');
      assert.equal(next.state, 'fulfilled', 'the call behind it did not run');
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        // Only its promise is told; the entry stays, and takes the work with it.
        override async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
          this.lookAt(signal);
          const isIdle = this.isFree() || this.isFull();
          return isIdle ? super.run(work, signal) : untilAbort(super.run(work), signal);
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-keeps-the-callers-reason',
    policy: 'bulkhead',
    sentence: 'A call that is aborted in the queue is rejected with its caller’s own reason.',
    seen: 'cockatiel: the reason is lost on the way, and the caller gets an error it does not know',
    needs: ['bulkhead'],
    check: async (stage) => {
      const { first, call, reason } = await leftInQueue(stage);
      // Whoever looks at the signal only when the turn comes gets there now.
      first.resolve(0, 'done');
      await stage.clock.settle();
      assert.equal(call.state, 'rejected', `the call is ${call.state}`);
      assertReason(stage.library, call.error, { reason, what: 'it was rejected with' });
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override turn(signal: AbortSignal | undefined): Promise<void> {
          return super.turn(signal).catch((error: unknown) => {
            throw new Error('The operation was cancelled', { cause: error });
          });
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-aborted-before-it-came',
    policy: 'bulkhead',
    sentence: 'A call whose signal has aborted before it comes is rejected and never waits.',
    seen: 'hand-written queues: an abort that has happened is told by no event, and the call waits for ever',
    needs: ['bulkhead', 'signals'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 1, queue: 5 });
      void observe(bulkhead.run(hanging));
      const manual = new Manual();
      const call = observe(bulkhead.run(manual.work, AbortSignal.abort(new Error('the caller left'))));
      await clock.settle();
      assert.equal(call.state, 'rejected', 'it waits');
      assert.equal(bulkhead.waiting(), 0, 'it has a place in the queue');
      assert.equal(manual.calls, 0, 'it ran');
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override lookAt(): void {}

        protected override turn(signal: AbortSignal | undefined): Promise<void> {
          return super.turn(signal?.aborted === true ? undefined : signal);
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-grant-meets-abort',
    policy: 'bulkhead',
    sentence: 'A slot that is granted at the moment of an abort starts nothing.',
    seen: 'hand-written semaphores: between the grant and the start nobody looks at the signal again',
    needs: ['bulkhead'],
    check: async (stage) => {
      await atEachMoment(stage, async ({ second, controller, when }) => {
        const before = second.calls;
        controller.abort(new Error('the caller left'));
        await stage.clock.settle();
        assert.equal(second.calls, before, `it started after its abort, which came ${when}`);
      });
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override async turn(signal: AbortSignal | undefined): Promise<void> {
          await super.turn(signal);
          // One turn between the grant and the start.
          await Promise.resolve();
        }

        protected override runWithSlot<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
          const body = started(work, signal);
          return untilAbort(
            body.finally(() => this.release()),
            signal,
          );
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-grant-meeting-abort-keeps-the-slot',
    policy: 'bulkhead',
    sentence: 'A slot that is granted at the moment of an abort is not lost.',
    seen: 'hand-written semaphores: whoever leaves between the grant and the start takes the slot along',
    needs: ['bulkhead'],
    check: async (stage) => {
      await atEachMoment(stage, async ({ bulkhead, second, controller, when }) => {
        controller.abort(new Error('the caller left'));
        second.resolve(0, 'fine');
        const next = observe(bulkhead.run(fine));
        await stage.clock.settle();
        second.resolve(0, 'fine');
        await stage.clock.settle();
        assert.equal(next.state, 'fulfilled', `with an abort ${when} the slot was lost`);
        assert.equal(bulkhead.running(), 0, `with nothing left to run it counted ${bulkhead.running()}`);
      });
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override giveUp(waiter: Waiter): void {
          this.line.delete(waiter);
        }

        protected override runWithSlot<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
          if (signal?.aborted === true) throw signal.reason;

          return super.runWithSlot(work, signal);
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-leaving-costs-the-same',
    policy: 'bulkhead',
    sentence: 'What it costs to leave the queue does not grow with the queue.',
    seen: 'p-queue: each abort searches the whole list, and a mass of them blocks the process',
    needs: ['bulkhead'],
    check: async ({ library, clock }) => {
      const waiters = 500;
      const bulkhead = library.bulkhead({ limit: 1, queue: waiters });
      void observe(bulkhead.run(hanging));
      const controllers = Array.from({ length: waiters }, () => new AbortController());
      for (const { signal } of controllers) void observe(bulkhead.run(fine, signal));
      await clock.settle();
      assert.equal(bulkhead.waiting(), waiters, `${bulkhead.waiting()} of ${waiters} calls wait`);
      // From the middle outwards: neither end of a list is the cheap one.
      const [younger, older] = [controllers.slice(waiters / 2), controllers.slice(0, waiters / 2).reverse()];
      const steps = await elementSteps(async () => {
        for (const [at, controller] of younger.entries()) {
          controller.abort();
          older[at]?.abort();
          // What follows from it is a part of what it costs.
          await clock.settle();
        }
      });
      // Whether they leave is the question of another scenario.
      if (bulkhead.waiting() > 0) throw new NotOffered('calls do not leave its queue');
      assert.ok(steps <= waiters * 10, `${waiters} calls that left looked at, or moved, ${steps} others`);
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override giveUp(waiter: Waiter): void {
          const others = [...this.line].filter((other) => other !== waiter);
          if (others.length === this.line.size) return this.release();

          this.line.clear();
          for (const other of others) this.line.add(other);
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-leaves-no-listener',
    policy: 'bulkhead',
    sentence: 'Calls that waited leave no listener on a signal that outlives them.',
    seen: 'cockatiel: one abort listener stays for each call, until Node warns of a leak',
    needs: ['bulkhead', 'signals'],
    check: async ({ library, clock }) => {
      const { signal } = new AbortController();
      const listeners = watchListeners(signal);
      const bulkhead = library.bulkhead({ limit: 1, queue: 100 });
      const manual = new Manual();
      const calls = Array.from({ length: 20 }, () => observe(bulkhead.run(manual.work, signal)));
      await clock.settle();
      assert.equal(manual.calls, 1, `${manual.calls} calls ran at once, and the limit is 1`);
      for (let call = 0; call < 20; call += 1) {
        manual.resolve(call, 'fine');
        await clock.settle();
      }
      assert.equal(calls.filter(({ state }) => state === 'fulfilled').length, 20, 'a call in the queue never ran');
      assert.equal(listeners(), 0, `20 calls left ${listeners()} listeners`);
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override turn(signal: AbortSignal | undefined): Promise<void> {
          signal?.addEventListener('abort', () => {});
          return super.turn(signal);
        }
      },
    ),
  }),
];

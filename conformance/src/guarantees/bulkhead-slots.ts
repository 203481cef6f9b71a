import assert from 'node:assert/strict';
import { PLENTY, type Work } from '../adapter.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { Manual, observe } from '../observed.js';
import { TextbookBulkhead, withBulkhead } from '../textbook/bulkhead.js';
import { started, untilAbort } from '../textbook/running.js';
import { assertSlots, cooperative, failing, fine, hanging, pause } from '../works.js';

const BACKOFF = pause(10);

/** How many bodies a bulkhead lets run, and when it gives their slots back. */
export const BULKHEAD_SLOTS: readonly Guarantee[] = [
  guarantee({
    id: 'bulkhead-runs-up-to-its-limit',
    policy: 'bulkhead',
    sentence: 'Of calls that begin in one turn as many run as the limit says, and one more for each that ends.',
    seen: 'hand-written semaphores: the count is raised after a wait, and all have passed the check by then',
    needs: ['bulkhead'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 3 });
      const manual = new Manual();
      for (let call = 0; call < 10; call += 1) void observe(bulkhead.run(manual.work));
      await clock.settle();
      assert.equal(manual.calls, 3, `${manual.calls} of 10 calls ran at once, and the limit is 3`);
      for (let ended = 1; ended <= 10; ended += 1) {
        if (ended % 2 === 0) manual.resolve(ended - 1, 'fine');
        else manual.reject(ended - 1, new Error('down'));
        await clock.settle();
        // The slot is for one that waits, or for this one.
        void observe(bulkhead.run(manual.work));
        await clock.settle();
        const running: number = manual.calls - ended;
        assert.equal(running, 3, `after ${ended} had ended, ${running} ran, and the limit is 3`);
      }
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        override async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
          this.lookAt(signal);
          if (!this.isFree()) return super.run(work, signal);

          await Promise.resolve();
          this.taken += 1;
          return this.runWithSlot(work, signal);
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-counts-stay-true',
    policy: 'bulkhead',
    sentence: 'Whatever retries, throws, aborts and timeouts happen inside, its count stays between 0 and the limit.',
    seen: 'nestjs-resilience: a retry around it gives back more slots than it took, and the count falls below 0',
    needs: ['bulkhead', 'retry', 'timeout', 'wrap'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 2, queue: 2 });
      const retry = library.retry({ attempts: 3, backoff: BACKOFF });
      const policy = library.wrap(retry, bulkhead, library.timeout(30));
      const looked = (): void => {
        const running = bulkhead.running();
        assert.ok(running >= 0 && running <= 2, `it counted ${running} running calls, and its limit is 2`);
      };
      for (let round = 0; round < 12; round += 1) {
        const controller = new AbortController();
        const works = [failing, cooperative(controller.signal), fine, failing];
        const calls = works.map((work) => observe(policy.run<unknown>(work, controller.signal)));
        await clock.tick(round * 7);
        looked();
        controller.abort(new Error('the caller left'));
        await clock.tick(50);
        looked();
        assert.ok(
          calls.every(({ state }) => state !== 'pending'),
          'a call stayed pending',
        );
      }
      assert.equal(bulkhead.running(), 0, `with nothing left to run it counted ${bulkhead.running()}`);
      assert.equal(bulkhead.waiting(), 0, `with nothing left to run ${bulkhead.waiting()} waited`);
      await assertSlots(bulkhead, { clock, slots: 2 });
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        // Once where the error is caught, and once more at the end.
        protected override async runWithSlot<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
          try {
            return await super.runWithSlot(work, signal);
          } catch (error) {
            this.release();
            throw error;
          }
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-bounds-abandoned-work',
    policy: 'bulkhead',
    sentence: 'Work that ignores its signal keeps its slot until it has ended, also once its caller has gone.',
    seen: 'opossum, p-queue: capacity 1 and a timeout of 20 ms, and five bodies run at once',
    needs: ['bulkhead'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 1 });
      const manual = new Manual();
      for (let call = 0; call < 5; call += 1) {
        const controller = new AbortController();
        void observe(bulkhead.run(manual.work, controller.signal));
        await clock.tick(20);
        controller.abort(new Error('it takes too long'));
        await clock.settle();
      }
      assert.equal(manual.calls, 1, `${manual.calls} bodies ran at once, and the limit is 1`);
      manual.resolve(0, 'at last');
      // Without a queue there is nobody to hand the slot to: it is there a little later.
      await clock.settle();
      const next = observe(bulkhead.run(fine));
      await clock.settle();
      assert.equal(next.state, 'fulfilled', 'the slot did not come back when the work had ended');
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override async runWithSlot<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
          if (signal?.aborted === true) return super.runWithSlot(work, signal);

          try {
            return await untilAbort(started(work, signal), signal);
          } finally {
            this.release();
          }
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-keeps-nobody-for-work-that-hangs',
    policy: 'bulkhead',
    sentence: 'A caller that gives up has its rejection at once, also when the work that has its slot never reacts.',
    seen: 'cockatiel: the signal is looked at before the work begins, and work that hangs keeps its caller for good',
    needs: ['bulkhead', 'signals'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 1 });
      const controller = new AbortController();
      const manual = new Manual();
      const call = observe(bulkhead.run(manual.work, controller.signal));
      await clock.settle();
      assert.equal(manual.calls, 1, 'the work did not begin');
      assert.equal(call.state, 'pending', 'the call was rejected before its caller gave up');
      controller.abort(new Error('the caller left'));
      await clock.settle();
      assert.equal(call.state, 'rejected', 'the call waits for work that hangs');
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override runWithSlot<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
          if (signal?.aborted === true) return super.runWithSlot(work, signal);

          return started(work, signal).finally(() => this.release());
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-survives-synchronous-throws',
    policy: 'bulkhead',
    sentence: 'Work that throws before it returns a promise gives its slot back.',
    seen: 'hand-written semaphores: the slot comes back in the promise’s finally, and there was no promise',
    needs: ['bulkhead'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 1 });
      const throwing: Work<never> = () => {
        throw new Error('down at once');
      };
      for (let call = 0; call < 3; call += 1) {
        await assert.rejects(
          () => bulkhead.run(throwing),
          { message: 'down at once' },
          'a call did not end with what its work threw',
        );
      }
      await assertSlots(bulkhead, { clock, slots: 1 });
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override runWithSlot<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
          if (signal?.aborted === true) return super.runWithSlot(work, signal);

          const body = Promise.resolve(work({ signal }));
          return untilAbort(
            body.finally(() => this.release()),
            signal,
          );
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-refuses-at-once',
    policy: 'bulkhead',
    sentence: 'With its slots and its queue full it refuses at once, and runs nothing.',
    seen: 'hand-written queues: a bound that is off by one lets one more in',
    needs: ['bulkhead', 'refusal'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 2, queue: 3 });
      for (let call = 0; call < 5; call += 1) void observe(bulkhead.run(hanging));
      const manual = new Manual();
      const call = observe(bulkhead.run(manual.work));
      await clock.settle();
      assert.equal(call.state, 'rejected', 'a call that found the queue full waits');
      assert.ok(library.refusal(call.error), `its error is no refusal: ${String(call.error)}`);
      assert.equal(manual.calls, 0, 'the work ran although it had been refused');
      assert.equal(bulkhead.waiting(), 3, `${bulkhead.waiting()} wait, and the queue holds 3`);
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override isFull(): boolean {
          return this.line.size > (this.spec.queue ?? PLENTY);
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-without-queue',
    policy: 'bulkhead',
    sentence: 'A queue of 0 is none: what finds no slot is refused.',
    seen: 'clients and retriers to whom 0 means without a limit',
    needs: ['bulkhead', 'refusal'],
    check: async ({ library, clock }) => {
      const bulkhead = library.bulkhead({ limit: 1, queue: 0 });
      void observe(bulkhead.run(hanging));
      const calls = Array.from({ length: 10 }, () => observe(bulkhead.run(fine)));
      await clock.settle();
      const refused = calls.filter(({ error }) => library.refusal(error) !== undefined);
      assert.equal(refused.length, 10, `${refused.length} of 10 calls were refused`);
    },
    mutant: withBulkhead(
      class extends TextbookBulkhead {
        protected override isFull(): boolean {
          return this.line.size >= (this.spec.queue || Infinity);
        }
      },
    ),
  }),
  guarantee({
    id: 'bulkhead-shares-no-state',
    policy: 'bulkhead',
    sentence: 'Two bulkheads made from one object of options know nothing of each other.',
    seen: 'nestjs-resilience: state kept once for the process, and two applications share it',
    needs: ['bulkhead'],
    check: async ({ library, clock }) => {
      const spec = { limit: 1 };
      const [one, other] = [library.bulkhead(spec), library.bulkhead(spec)];
      await assertSlots(one, { clock, slots: 1 });
      // With the slot of the first one taken.
      await assertSlots(other, { clock, slots: 1 });
    },
    mutant: (ours) => {
      const made = new WeakMap<object, TextbookBulkhead>();
      return {
        ...ours,
        bulkhead: (spec) => {
          const known = made.get(spec) ?? new TextbookBulkhead(spec);
          made.set(spec, known);
          return known;
        },
      };
    },
  }),
];

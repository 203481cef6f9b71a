import assert from 'node:assert/strict';
import { NotOffered, type Policy } from '../adapter.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { Manual, observe, watchListeners } from '../observed.js';
import { assertReason } from '../reasons.js';
import { TextbookRateLimit, withRateLimit } from '../textbook/rate-limit.js';
import type { VirtualClock } from '../virtual-clock.js';
import { fine } from '../works.js';

const INTERVAL_MS = 1_000;
const PATIENT = { limit: 1, intervalMs: INTERVAL_MS, maxWaitMs: 10_000 };

/** Calls in one turn. */
function burst(policy: Policy, calls: number): Manual {
  const manual = new Manual();
  for (let call = 0; call < calls; call += 1) void observe(policy.run(manual.work));
  return manual;
}

/** How many of so many calls begin now, one after the other. What becomes of those in one turn is a question of its own. */
async function series(policy: Policy, calls: number, clock: VirtualClock): Promise<number> {
  const manual = new Manual();
  for (let call = 0; call < calls; call += 1) {
    void observe(policy.run(manual.work));
    await clock.settle();
  }
  return manual.calls;
}

export const RATE_LIMIT: readonly Guarantee[] = [
  guarantee({
    id: 'rate-limit-runs-its-limit',
    policy: 'rate limit',
    sentence: 'As many calls as the limit says run at once; the next one is refused, and runs nothing.',
    seen: 'hand-written token buckets: a bound that is off by one lets one more through',
    needs: ['rateLimit', 'refusal'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ ...PATIENT, limit: 5, maxWaitMs: 0 });
      const manual = burst(limit, 5);
      await clock.settle();
      assert.equal(manual.calls, 5, `${manual.calls} of 5 calls ran, and the limit is 5`);
      const call = observe(limit.run(manual.work));
      await clock.settle();
      assert.equal(manual.calls, 5, 'a sixth call ran, and the limit is 5');
      assert.ok(library.refusal(call.error), `its error is no refusal: ${String(call.error)}`);
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        protected override nextStart(): number {
          return this.starts.length === this.spec.limit ? Date.now() : super.nextStart();
        }
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-whole-again-after-its-interval',
    policy: 'rate limit',
    sentence: 'One interval after a burst the whole limit is there again, to the millisecond.',
    seen: 'hand-written windows: a bound that is exclusive where it should not be, and one call of ten is lost',
    needs: ['rateLimit'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ limit: 5, intervalMs: INTERVAL_MS });
      await series(limit, 5, clock);
      await clock.tick(INTERVAL_MS);
      const again = await series(limit, 6, clock);
      assert.equal(again, 5, `${again} of 6 calls ran one interval later, and the limit is 5`);
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        protected override nextStart(): number {
          const { limit, intervalMs } = this.spec;
          const before = this.starts.at(-limit) ?? -Infinity;
          return Date.now() - before > intervalMs ? Date.now() : before + intervalMs + 1;
        }
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-waits-for-the-next-turn',
    policy: 'rate limit',
    sentence: 'A call that may wait starts at the moment its turn comes, neither before nor later.',
    seen: 'hand-written limiters: each waits a whole interval from when it came, not from the last start',
    needs: ['rateLimit'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ ...PATIENT });
      burst(limit, 1);
      await clock.tick(400);
      const second = burst(limit, 1);
      await clock.tick(599);
      assert.equal(second.calls, 0, 'it started before an interval had passed');
      await clock.tick(1);
      assert.equal(second.calls, 1, 'an interval had passed, and it did not start');
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        protected override nextStart(): number {
          const start = super.nextStart();
          return start > Date.now() ? Math.max(start, Date.now() + this.spec.intervalMs) : start;
        }
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-one-start-per-turn',
    policy: 'rate limit',
    sentence: 'Calls that wait start one after the other at the rate of the limit, in the order in which they came.',
    seen: 'hand-written token buckets: all that wait wake at the same refill, and all of them start',
    needs: ['rateLimit'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ ...PATIENT });
      const order: number[] = [];
      for (let call = 0; call < 5; call += 1) void observe(limit.run(() => void order.push(call)));
      await clock.settle();
      for (let turn = 1; turn < 5; turn += 1) {
        await clock.tick(INTERVAL_MS - 1);
        assert.equal(order.length, turn, `${order.length} had started before turn ${turn + 1}`);
        await clock.tick(1);
        assert.equal(order.length, turn + 1, `${order.length} had started at turn ${turn + 1}`);
      }
      assert.deepEqual(order, [0, 1, 2, 3, 4], `they started in the order ${order.join(', ')}`);
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        // Looks at those that have started, not at those that wait.
        protected override nextStart(): number {
          const before = this.starts.filter((start) => start <= Date.now()).at(-this.spec.limit);
          return before === undefined ? Date.now() : Math.max(Date.now(), before + this.spec.intervalMs);
        }
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-refuses-what-cannot-come-in-time',
    policy: 'rate limit',
    sentence: 'A call whose turn comes later than it may wait is refused now, not when its patience ends.',
    seen: 'resilience4j: a call that cannot be served in time first waits its whole timeout',
    needs: ['rateLimit', 'refusal'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ ...PATIENT, maxWaitMs: 999 });
      burst(limit, 1);
      const call = observe(limit.run(fine));
      await clock.settle();
      assert.equal(call.state, 'rejected', 'it waits for a turn that comes too late');
      assert.ok(library.refusal(call.error), `its error is no refusal: ${String(call.error)}`);
      await clock.tick(1);
      const next = observe(limit.run(fine));
      await clock.tick(999);
      assert.equal(next.state, 'fulfilled', 'a call whose turn came just in time did not run');
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        protected override async refuse(waitMs: number): Promise<void> {
          await new Promise((resolve) => setTimeout(resolve, this.spec.maxWaitMs));
          return super.refuse(waitMs);
        }
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-abort-ends-the-wait',
    policy: 'rate limit',
    sentence: 'A call that is aborted while it waits is rejected at once with its caller’s reason, and never runs.',
    seen: 'undici, p-retry: an abort during a wait is noticed only when the timer ends, and one more call is made',
    needs: ['rateLimit'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ ...PATIENT });
      burst(limit, 1);
      const controller = new AbortController();
      const manual = new Manual();
      const call = observe(limit.run(manual.work, controller.signal));
      await clock.tick(500);
      controller.abort(new Error('the caller left'));
      await clock.settle();
      assert.equal(call.state, 'rejected', 'its abort was not noticed while it waited');
      await clock.tick(INTERVAL_MS * 3);
      assert.equal(manual.calls, 0, 'an aborted call ran when its turn came');
      assertReason(library, call.error, { reason: controller.signal.reason, what: 'it was rejected with' });
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        protected override async wait(start: number, signal: AbortSignal | undefined): Promise<void> {
          await super.wait(start, undefined);
          if (signal?.aborted === true) this.giveBack(start);
          signal?.throwIfAborted();
        }
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-abort-gives-its-turn-back',
    policy: 'rate limit',
    sentence: 'The turn of a call that is aborted while it waits goes to the next one that comes.',
    seen: 'resilience4j: what was reserved for a call that is interrupted is lost',
    needs: ['rateLimit'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ ...PATIENT });
      burst(limit, 1);
      for (let caller = 0; caller < 3; caller += 1) {
        const controller = new AbortController();
        const call = observe(limit.run(fine, controller.signal));
        await clock.tick(100);
        controller.abort(new Error('the caller left'));
        await clock.settle();
        assert.notEqual(call.state, 'fulfilled', 'a call started before its turn');
      }
      const next = burst(limit, 1);
      await clock.tick(699);
      assert.equal(next.calls, 0, 'it started before an interval had passed');
      await clock.tick(1);
      assert.equal(next.calls, 1, 'the turns of calls that had gone kept it waiting');
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        protected override giveBack(): void {}
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-saves-no-more-than-its-limit',
    policy: 'rate limit',
    sentence: 'After any idle time a burst is no larger than the limit.',
    seen: 'hand-written token buckets: tokens pile up over a quiet night, and the morning starts with all of them',
    needs: ['rateLimit'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ limit: 5, intervalMs: INTERVAL_MS });
      burst(limit, 1);
      await clock.tick(INTERVAL_MS * 3_600);
      const ran = await series(limit, 50, clock);
      assert.equal(ran, 5, `${ran} calls ran at once after an hour, and the limit is 5`);
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        private readonly createdAt = Date.now();

        protected override nextStart(): number {
          const { limit, intervalMs } = this.spec;
          const earned = Math.floor((Date.now() - this.createdAt) / intervalMs) * limit;
          return this.starts.length < earned ? Date.now() : super.nextStart();
        }
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-has-no-edges',
    policy: 'rate limit',
    sentence: 'Across the edge of an interval a fifth of one lets a fifth more through than the limit, not twice it.',
    seen: 'p-queue: with fixed intervals the end of one and the start of the next are spent together',
    needs: ['rateLimit'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ limit: 10, intervalMs: INTERVAL_MS });
      await series(limit, 1, clock);
      await clock.tick(INTERVAL_MS * 0.9);
      const before = await series(limit, 9, clock);
      await clock.tick(INTERVAL_MS * 0.2);
      const ran = before + (await series(limit, 10, clock));
      assert.ok(ran <= 12, `${ran} calls ran within a fifth of an interval, and the limit is 10 for a whole one`);
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        private readonly createdAt = Date.now();

        protected override nextStart(): number {
          const { limit, intervalMs } = this.spec;
          const spent = (edge: number): number =>
            this.starts.filter((start) => start >= edge && start < edge + intervalMs).length;
          let edge = Date.now() - ((Date.now() - this.createdAt) % intervalMs);
          while (spent(edge) >= limit) edge += intervalMs;
          return Math.max(Date.now(), edge);
        }
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-tells-how-long',
    policy: 'rate limit',
    sentence: 'A refusal tells how long the next turn is away from now on.',
    seen: 'hand-written limiters: Retry-After is the whole interval, however much of it is over',
    needs: ['rateLimit', 'refusal'],
    check: async ({ library, clock }) => {
      const limit = library.rateLimit({ ...PATIENT, maxWaitMs: 0 });
      burst(limit, 1);
      await clock.tick(750);
      const call = observe(limit.run(fine));
      await clock.settle();
      const refusal = library.refusal(call.error);
      assert.ok(refusal, `its error is no refusal: ${String(call.error)}`);
      if (refusal.retryAfterMs === undefined) throw new NotOffered('its refusals tell no time');

      assert.equal(refusal.retryAfterMs, 250, `it told ${refusal.retryAfterMs} ms, with 250 ms left`);
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        protected override refuse(): Promise<void> {
          return super.refuse(this.spec.intervalMs);
        }
      },
    ),
  }),
  guarantee({
    id: 'rate-limit-shares-no-state',
    policy: 'rate limit',
    sentence: 'Two limits made from one object of options know nothing of each other.',
    seen: 'nestjs-resilience: state kept once for the process, and two applications share it',
    needs: ['rateLimit'],
    check: async ({ library, clock }) => {
      const spec = { limit: 5, intervalMs: INTERVAL_MS };
      const [one, other] = [library.rateLimit(spec), library.rateLimit(spec)];
      await series(one, 5, clock);
      const ran = await series(other, 6, clock);
      assert.equal(ran, 5, `${ran} of 6 calls ran, with a limit of 5, after those under another one`);
    },
    mutant: (ours) => {
      const made = new WeakMap<object, TextbookRateLimit>();
      return {
        ...ours,
        rateLimit: (spec) => {
          const known = made.get(spec) ?? new TextbookRateLimit(spec);
          made.set(spec, known);
          return known;
        },
      };
    },
  }),
  guarantee({
    id: 'rate-limit-leaves-no-listener',
    policy: 'rate limit',
    sentence: 'Calls that waited for their turn leave no listener on a signal that outlives them.',
    seen: 'cockatiel: one abort listener stays for each call, until Node warns of a leak',
    needs: ['rateLimit', 'signals'],
    check: async ({ library, clock }) => {
      const { signal } = new AbortController();
      const listeners = watchListeners(signal);
      const limit = library.rateLimit({ ...PATIENT });
      const calls = Array.from({ length: 10 }, () => observe(limit.run(fine, signal)));
      await clock.settle();
      assert.equal(calls.filter(({ state }) => state === 'pending').length, 9, 'calls do not wait for their turn');
      await clock.tick(INTERVAL_MS * 10);
      assert.equal(calls.filter(({ state }) => state === 'fulfilled').length, 10, 'a call that waited never ran');
      assert.equal(listeners(), 0, `10 calls left ${listeners()} listeners`);
    },
    mutant: withRateLimit(
      class extends TextbookRateLimit {
        protected override wait(start: number, signal: AbortSignal | undefined): Promise<void> {
          signal?.addEventListener('abort', () => {});
          return super.wait(start, signal);
        }
      },
    ),
  }),
];

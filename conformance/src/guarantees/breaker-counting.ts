import assert from 'node:assert/strict';
import { elementSteps } from '../element-steps.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { observe } from '../observed.js';
import { TextbookBreaker, withBreaker, type Call, type Entry, type Outcome } from '../textbook/breaker.js';
import { started, untilAbort } from '../textbook/running.js';
import type { Work } from '../adapter.js';
import { assertOpens, BREAKER, cooperative, fail, failing, hanging, succeed } from '../works.js';

const WINDOW_MS = 5_000;
const TIMED = { ...BREAKER, minimumCalls: 5, window: { ms: WINDOW_MS } };

/** What a circuit breaker counts, and for how long. */
export const BREAKER_COUNTING: readonly Guarantee[] = [
  guarantee({
    id: 'breaker-forgets-while-idle',
    policy: 'breaker',
    sentence: 'A time window holds nothing of what happened before an hour without calls.',
    seen: 'cockatiel: failures stay in the window through any idle time, and one more opens it',
    needs: ['breaker'],
    check: async ({ library, clock }) => {
      const breaker = library.breaker({ ...TIMED });
      await fail(breaker, 4);
      await clock.tick(3_600_000);
      await fail(breaker, 1);
      assert.equal(breaker.state(), 'closed', 'it opened for failures that were an hour old');
      const calls = breaker.callsInWindow?.();
      assert.ok(calls === undefined || calls === 1, `its window held ${calls} calls instead of 1`);
      await assertOpens(breaker, 4);

      const healthy = library.breaker({ ...TIMED });
      await succeed(healthy, 100);
      await clock.tick(3_600_000);
      await assertOpens(healthy, 5);
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        // Buckets by the second of the minute: an hour later they are the same ones.
        protected override isRecent(at: number, windowMs: number): boolean {
          return (Date.now() - at) % 60_000 < windowMs;
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-forgets-after-its-window',
    policy: 'breaker',
    sentence: 'A failure that is one window old, or one and a half, no longer counts.',
    seen: 'cockatiel: a call drops one part of the window at most, and a pause leaves the others',
    needs: ['breaker'],
    check: async ({ library, clock }) => {
      for (const pauseMs of [WINDOW_MS, WINDOW_MS * 1.5]) {
        const breaker = library.breaker({ ...TIMED });
        await fail(breaker, 4);
        await clock.tick(pauseMs);
        await fail(breaker, 1);
        assert.equal(breaker.state(), 'closed', `failures counted that were ${pauseMs} ms old`);
        await assertOpens(breaker, 4);
      }
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        // Two halves that are swapped once the newer one is full: what falls out is one to two windows old.
        protected override isRecent(at: number, windowMs: number): boolean {
          return Date.now() - at < windowMs * 2;
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-forgets-under-traffic',
    policy: 'breaker',
    sentence: 'Old failures leave a time window also while calls keep coming.',
    seen: 'nestjs-resilience: the window ends only after a pause, under steady traffic it grows',
    needs: ['breaker'],
    check: async ({ library, clock }) => {
      const breaker = library.breaker({ ...TIMED });
      for (let call = 0; call < 20; call += 1) {
        await fail(breaker, 1);
        assert.equal(breaker.state(), 'closed', `call ${call + 1} opened it, with at most 4 in any window`);
        await clock.tick(WINDOW_MS / 3);
      }
      await assertOpens(breaker, 5);
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override recent(): readonly Entry[] {
          const { window } = this.spec;
          if ('calls' in window) return super.recent();
          const times = [...this.entries.map(({ at }) => at), Date.now()];
          const afterPause = times.findLastIndex((at, call) => at - (times[call - 1] ?? at) >= window.ms);
          return this.entries.slice(Math.max(0, afterPause));
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-window-slides',
    policy: 'breaker',
    sentence: 'Failures within half a window count together, wherever in time they lie.',
    seen: 'gobreaker: counts are cleared at fixed intervals, so that a burst across the edge is halved',
    needs: ['breaker'],
    check: async ({ library, clock }) => {
      for (let tenth = 0; tenth < 10; tenth += 1) {
        const breaker = library.breaker({ ...TIMED });
        await clock.tick((WINDOW_MS * tenth) / 10);
        await fail(breaker, 3);
        await clock.tick(WINDOW_MS / 2);
        await fail(breaker, 2);
        assert.equal(breaker.state(), 'open', `5 failures from ${tenth / 10} windows on did not open it`);
      }
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        private readonly createdAt = Date.now();

        protected override isRecent(at: number, windowMs: number): boolean {
          return at >= Date.now() - ((Date.now() - this.createdAt) % windowMs);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-window-of-calls',
    policy: 'breaker',
    sentence: 'A window of calls holds the last ones and no older.',
    seen: 'gobreaker: without an interval the counts of a closed breaker are never cleared',
    needs: ['breaker'],
    check: async ({ library }) => {
      const breaker = library.breaker({ ...BREAKER, failureRate: 70, window: { calls: 4 } });
      await succeed(breaker, 20);
      await fail(breaker, 2);
      assert.equal(breaker.state(), 'closed', '2 failures of the last 4 calls opened it at 70 %');
      await fail(breaker, 1);
      assert.equal(breaker.state(), 'open', '3 failures of the last 4 calls did not open it at 70 %');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override recent(): readonly Entry[] {
          return 'calls' in this.spec.window ? this.entries : super.recent();
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-minimum-of-calls',
    policy: 'breaker',
    sentence: 'However high the rate is, it opens with the minimum of calls and not before.',
    seen: 'opossum: one failure at the start is a rate of 100 %, and opens it',
    needs: ['breaker'],
    check: async ({ library }) => {
      const breaker = library.breaker({ ...BREAKER, minimumCalls: 10 });
      await fail(breaker, 9);
      assert.equal(breaker.state(), 'closed', '9 failures opened it, and its minimum is 10');
      await fail(breaker, 1);
      assert.equal(breaker.state(), 'open', '10 failures did not open it, and its minimum is 10');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override isEnough(calls: number): boolean {
          return calls > 0;
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-failures-cost-the-same',
    policy: 'breaker',
    sentence: 'What a failed call costs does not grow with the traffic in the window.',
    seen: 'opossum: each failed call sorts every latency that is kept, at the worst of times',
    needs: ['breaker'],
    check: async ({ library }) => {
      // More than there are failures, so that it stays closed however it counts.
      const breaker = library.breaker({ ...BREAKER, minimumCalls: 100 });
      const [successes, failures] = [2_000, 50];
      await succeed(breaker, successes);
      const steps = await elementSteps(() => fail(breaker, failures));
      assert.equal(breaker.state(), 'closed', `${failures} failures of ${successes} calls opened it at 50 %`);
      assert.ok(steps <= (failures * successes) / 10, `${failures} failures looked at ${steps} records of other calls`);
      await assertOpens(breaker, successes);
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        private readonly latencies: number[] = [];
        protected slowest = 0;

        protected override leave(call: Call, outcome: Outcome): void {
          this.latencies.push(Date.now() - call.startedAt);
          if (outcome === 'failed') this.slowest = this.latencies.toSorted((a, b) => b - a)[0] ?? 0;
          super.leave(call, outcome);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-ignores-cancelled-calls',
    policy: 'breaker',
    sentence: 'Calls that their callers cancelled do not open it.',
    seen: 'cockatiel: three callers who leave open the breaker for everybody',
    needs: ['breaker'],
    check: async ({ library, clock }) => {
      const breaker = library.breaker({ ...BREAKER });
      let begun = 0;
      for (let caller = 0; caller < 100; caller += 1) {
        const controller = new AbortController();
        const work = cooperative(controller.signal, () => (begun += 1));
        const call = observe(breaker.run(work, controller.signal));
        await clock.settle();
        // As most callers do, with the reason that filters of errors know.
        controller.abort();
        await clock.settle();
        assert.equal(call.state, 'rejected', 'a cancelled call stayed pending');
      }
      assert.equal(begun, 100, `${begun} of 100 calls began`);
      assert.equal(breaker.state(), 'closed', '100 cancelled calls opened it');
      // As many, where a call that does not count as a failure is a success.
      await assertOpens(breaker, 100);
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override isCancelled(error: unknown, signal: AbortSignal | undefined): boolean {
          return this.era.state === 'half-open' && super.isCancelled(error, signal);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-ignores-refusals-inside',
    policy: 'breaker',
    sentence: 'What a bulkhead inside of it refuses is no failure.',
    seen: 'opossum: one slow call and two that found no room open the breaker',
    needs: ['breaker', 'bulkhead', 'wrap', 'refusal'],
    check: async ({ library, clock }) => {
      const breaker = library.breaker({ ...BREAKER });
      const policy = library.wrap(breaker, library.bulkhead({ limit: 1, queue: 0 }));
      void observe(policy.run(hanging));
      await clock.settle();
      // One after the other: what calls of one turn find may be older than what the first of them leaves.
      for (let call = 0; call < 20; call += 1) {
        const refused = observe(policy.run(hanging));
        await clock.settle();
        assert.ok(library.refusal(refused.error), 'a call that found no room was not refused');
      }
      assert.equal(breaker.state(), 'closed', '20 refusals of a bulkhead opened it');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override isRefusal(): boolean {
          return false;
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-counts-synchronous-throws',
    policy: 'breaker',
    sentence: 'Work that throws before it returns a promise has failed like any other.',
    seen: 'hand-written breakers: only the promise is looked at, and a throw at once goes past the count',
    needs: ['breaker'],
    check: async ({ library }) => {
      const breaker = library.breaker({ ...BREAKER });
      const throwing: Work<never> = () => {
        throw new Error('down at once');
      };
      for (let call = 0; call < 4; call += 1) {
        await assert.rejects(
          () => breaker.run(throwing),
          { message: 'down at once' },
          'a call did not end with what its work threw',
        );
      }
      assert.equal(breaker.state(), 'open', '4 calls that threw at once did not open it');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        private readonly thrown = new WeakSet<object>();

        protected override attempt<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
          const guarded: Work<T> = (attempt) => {
            try {
              return work(attempt);
            } catch (error) {
              this.thrown.add(error as object);
              throw error;
            }
          };
          return untilAbort(started(guarded, signal), signal);
        }

        protected override judge(error: unknown, signal: AbortSignal | undefined): Outcome {
          return this.thrown.has(error as object) ? 'ignored' : super.judge(error, signal);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-counts-slow-calls-in-flight',
    policy: 'breaker',
    sentence: 'A call in flight counts as slow as soon as it is, not only once it returns.',
    seen: 'resilience4j: calls that hang never open the breaker, however many there are',
    needs: ['breaker'],
    check: async ({ library, clock }) => {
      const breaker = library.breaker({ ...BREAKER, slow: { ms: 100, rate: 100 } });
      for (let call = 0; call < 6; call += 1) void observe(breaker.run(hanging));
      await clock.tick(99);
      assert.equal(breaker.state(), 'closed', 'calls of 99 ms opened it, and slow is 100 ms');
      await clock.tick(1);
      const next = observe(breaker.run(failing));
      await clock.settle();
      assert.notEqual(next.state, 'pending');
      assert.equal(breaker.state(), 'open', '6 calls that hang for 100 ms did not open it');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override lagging(): number {
          return 0;
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-counts-slow-successes',
    policy: 'breaker',
    sentence: 'Calls that succeed, but slowly, open it at their rate.',
    seen: 'hand-written breakers: a dependency that answers just within every timeout counts as healthy',
    needs: ['breaker'],
    check: async ({ library, clock }) => {
      const breaker = library.breaker({ ...BREAKER, slow: { ms: 100, rate: 100 } });
      const lasting = (ms: number) => () => new Promise<void>((resolve) => setTimeout(resolve, ms));
      for (let call = 0; call < 6; call += 1) void observe(breaker.run(lasting(99)));
      await clock.tick(99);
      assert.equal(breaker.state(), 'closed', 'calls of 99 ms opened it, and slow is 100 ms');

      const another = library.breaker({ ...BREAKER, slow: { ms: 100, rate: 100 } });
      for (let call = 0; call < 6; call += 1) {
        void observe(another.run(lasting(100)));
        await clock.tick(100);
      }
      assert.equal(another.state(), 'open', '6 calls of 100 ms each did not open it');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        // Asks for the time only where something went wrong.
        protected override record(call: Call, outcome: Outcome): void {
          super.record(outcome === 'good' ? { ...call, startedAt: Date.now() } : call, outcome);
        }
      },
    ),
  }),
];

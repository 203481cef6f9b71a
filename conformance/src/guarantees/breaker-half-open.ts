import assert from 'node:assert/strict';
import type { Work } from '../adapter.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { Manual, observe } from '../observed.js';
import { TextbookBreaker, withBreaker, type Call, type Era, type Outcome } from '../textbook/breaker.js';
import { BREAKER, cooperative, fail, fine, hanging, opened, reopenable, succeed } from '../works.js';

type HalfOpen = Era & { state: 'half-open' };

const notFound = Object.assign(new Error('no such thing'), { status: 404 });
const missing = (): Promise<never> => Promise.reject(notFound);
/** Counts everything but what was not found. */
const FILTERED = { ...BREAKER, recordIf: (error: unknown): boolean => error !== notFound };

/** What a circuit breaker does in its half-open period. */
export const BREAKER_HALF_OPEN: readonly Guarantee[] = [
  guarantee({
    id: 'breaker-probes-exactly',
    policy: 'breaker',
    sentence: 'Of a thousand callers at the moment it is half-open, exactly as many run as there are probes.',
    seen: 'nestjs-resilience, Polly: half-open lets everybody through, onto a dependency that just came back',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await reopenable(stage, { probes: 3 });
      const manual = new Manual();
      for (let caller = 0; caller < 1_000; caller += 1) void observe(breaker.run(manual.work));
      await stage.clock.settle();
      assert.equal(manual.calls, 3, `${manual.calls} calls ran as 3 probes`);
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        // Places are taken when probes return.
        protected override takePlace(era: HalfOpen): boolean {
          return era.good + era.failed < this.spec.probes;
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-parks-nobody',
    policy: 'breaker',
    sentence: 'While a probe hangs, other callers are refused at once and do not wait for it.',
    seen: 'cockatiel: callers are parked behind a probe that hangs, their own abort included',
    needs: ['breaker', 'refusal'],
    check: async (stage) => {
      const breaker = await reopenable(stage);
      void observe(breaker.run(hanging));
      await stage.clock.settle();
      const call = observe(breaker.run(fine, new AbortController().signal));
      await stage.clock.settle();
      assert.equal(call.state, 'rejected', 'a caller beside a hung probe was not answered');
      assert.ok(stage.library.refusal(call.error), `its error is no refusal: ${String(call.error)}`);
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        private probe: Promise<unknown> = Promise.resolve();

        protected override attempt<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
          const attempt = super.attempt(work, signal);
          if (this.era.state === 'half-open') this.probe = attempt.catch(() => {});
          return attempt;
        }

        override async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
          if (this.era.state === 'half-open' && this.era.places === this.spec.probes) await this.probe;
          return super.run(work, signal);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-failed-probe-reopens',
    policy: 'breaker',
    sentence: 'One failed probe opens it again, whatever the minimum of calls is.',
    seen: 'opossum: a probe that fails below the minimum leaves it half-open for ever',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await reopenable(stage, { minimumCalls: 10 });
      await fail(breaker, 1);
      assert.equal(breaker.state(), 'open', 'a failed probe did not open it again');
      await stage.clock.tick(BREAKER.openMs - 1);
      assert.equal(breaker.state(), 'open', 'it was not open for its whole time again');
      const early = new Manual();
      void observe(breaker.run(early.work));
      await stage.clock.settle();
      assert.equal(early.calls, 0, 'it let a call through before its time was over again');
      await stage.clock.tick(1);
      await succeed(breaker, 1);
      assert.equal(breaker.state(), 'closed', 'a good probe did not close it');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override settleProbe(era: HalfOpen, outcome: Outcome): void {
          if (outcome !== 'failed' || era.failed + 1 >= this.spec.minimumCalls) return super.settleProbe(era, outcome);

          era.places -= 1;
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-gives-up-early',
    policy: 'breaker',
    sentence: 'It opens again as soon as so many probes have failed that the others cannot change it, and not before.',
    seen: 'cockatiel: the half-open period ends only when the slowest probe is back',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await reopenable(stage, { probes: 10, failureRate: 30 });
      const manual = new Manual();
      for (let probe = 0; probe < 10; probe += 1) void observe(breaker.run(manual.work));
      await stage.clock.settle();
      manual.reject(0, new Error('down'));
      manual.reject(1, new Error('down'));
      await stage.clock.settle();
      assert.equal(breaker.state(), 'half-open', 'it was decided with 2 of 10 probes failed, at a rate of 30 %');
      manual.reject(2, new Error('down'));
      await stage.clock.settle();
      assert.equal(
        breaker.state(),
        'open',
        '3 of 10 probes had failed, at a rate of 30 %, and it waited for the others',
      );
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override settleProbe(era: HalfOpen, outcome: Outcome): void {
          const isLast = era.good + era.failed + 1 === this.spec.probes;
          if (outcome === 'failed' && !isLast) era.failed += 1;
          else super.settleProbe(era, outcome);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-closes-on-all-its-probes',
    policy: 'breaker',
    sentence: 'It closes on the outcomes of its probes, not on the first good one of several.',
    seen: 'hand-written breakers: the first success closes it, while the other probes are failing',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await reopenable(stage, { probes: 4 });
      const manual = new Manual();
      for (let probe = 0; probe < 4; probe += 1) void observe(breaker.run(manual.work));
      await stage.clock.settle();
      manual.resolve(0, 'fine');
      await stage.clock.settle();
      assert.equal(breaker.state(), 'half-open', 'one good probe of 4 decided, and 2 failures were still possible');
      manual.reject(1, new Error('down'));
      manual.reject(2, new Error('down'));
      await stage.clock.settle();
      assert.equal(breaker.state(), 'open', '2 of 4 probes failed, at a rate of 50 %, and it did not open');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override settleProbe(era: HalfOpen, outcome: Outcome): void {
          if (outcome === 'good') this.close();
          else super.settleProbe(era, outcome);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-half-open-ignores-earlier-calls',
    policy: 'breaker',
    sentence: 'The success of a call that began before it opened does not close it.',
    seen: 'Polly: a result that arrives from the period before closes it, onto a dependency that is down',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = stage.library.breaker({ ...BREAKER });
      // One that is in use: what calls share may be made by the first of them.
      await succeed(breaker, 1);
      const early = new Manual();
      void observe(breaker.run(early.work));
      await stage.clock.settle();
      await fail(breaker, 4);
      await stage.clock.tick(BREAKER.openMs);
      void observe(breaker.run(hanging));
      await stage.clock.settle();
      early.resolve(0, 'fine, long ago');
      await stage.clock.settle();
      assert.equal(breaker.state(), 'half-open', 'the success of an earlier call changed its state');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override isCurrent(call: Call): boolean {
          return this.era.state === 'half-open' || super.isCurrent(call);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-ignored-probe-decides-nothing',
    policy: 'breaker',
    sentence: 'A probe whose outcome does not count neither closes nor opens it.',
    seen: 'opossum: a filtered 404 in the half-open period closes it',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await reopenable(stage, FILTERED);
      await breaker.run(missing).catch(() => {});
      assert.equal(breaker.state(), 'half-open', 'an outcome that does not count decided');
      await fail(breaker, 1);
      assert.equal(breaker.state(), 'open', 'the failure of the next probe did not open it again');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override judge(error: unknown, signal: AbortSignal | undefined): Outcome {
          const outcome = super.judge(error, signal);
          const isOther = outcome === 'ignored' && !this.isCancelled(error, signal) && !this.isRefusal(error);
          return isOther && this.era.state === 'half-open' ? 'good' : outcome;
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-ignored-probe-frees-its-place',
    policy: 'breaker',
    sentence: 'After a probe whose outcome does not count, another one may run.',
    seen: 'Polly: an error that it does not handle uses up the only probe of the period',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await reopenable(stage, FILTERED);
      for (let probe = 0; probe < 5; probe += 1) await breaker.run(missing).catch(() => {});
      const manual = new Manual<string>();
      const next = observe(breaker.run(manual.work));
      await stage.clock.settle();
      assert.equal(manual.calls, 1, 'the place of a probe that did not count stayed taken');
      manual.resolve(0, 'fine');
      await stage.clock.settle();
      assert.equal(next.state, 'fulfilled');
      assert.equal(breaker.state(), 'closed', 'a good probe did not close it');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override settleProbe(era: HalfOpen, outcome: Outcome): void {
          if (outcome !== 'ignored') super.settleProbe(era, outcome);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-cancelled-probe-decides-nothing',
    policy: 'breaker',
    sentence: 'A probe that its caller cancels leaves it half-open, and its place to the next.',
    seen: 'nestjs-resilience: a cancelled probe closes the breaker',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await reopenable(stage);
      const controller = new AbortController();
      void observe(breaker.run(cooperative(controller.signal), controller.signal));
      await stage.clock.settle();
      controller.abort();
      await stage.clock.settle();
      assert.equal(breaker.state(), 'half-open', 'a cancelled probe decided');
      const next = observe(breaker.run(fine));
      await stage.clock.settle();
      assert.equal(next.state, 'fulfilled', 'the place of a cancelled probe stayed taken');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override judge(error: unknown, signal: AbortSignal | undefined): Outcome {
          const isProbe = this.era.state === 'half-open';
          return isProbe && this.isCancelled(error, signal) ? 'good' : super.judge(error, signal);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-survives-its-filter',
    policy: 'breaker',
    sentence: 'A filter that throws takes no probe’s place for ever.',
    seen: 'Polly: an exception on the way out uses up the only probe of the period',
    needs: ['breaker'],
    check: async (stage) => {
      const poisoned = new Error('has no status');
      const recordIf = (error: unknown): boolean => {
        if (error === poisoned) throw new TypeError('cannot read status');
        return true;
      };
      const breaker = await reopenable(stage, { recordIf });
      await breaker.run(() => Promise.reject(poisoned)).catch(() => {});
      await stage.clock.tick(BREAKER.openMs);
      await succeed(breaker, 1).catch(() => {});
      assert.equal(breaker.state(), 'closed', 'after a filter that threw no probe ran any more');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override leaveFailed(call: Call, error: unknown, signal: AbortSignal | undefined): void {
          this.leave(call, this.judge(error, signal));
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-closes-again',
    policy: 'breaker',
    sentence: 'After any number of failed half-open periods a good probe closes it.',
    seen: 'opossum: another opening stops the timer that would have ended the first',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await opened(stage);
      for (let period = 0; period < 5; period += 1) {
        await stage.clock.tick(BREAKER.openMs);
        await fail(breaker, 1);
        assert.equal(breaker.state(), 'open', `period ${period + 1}: a failed probe did not open it again`);
      }
      await stage.clock.tick(BREAKER.openMs);
      await succeed(breaker, 1).catch(() => {});
      assert.equal(breaker.state(), 'closed', 'a good probe did not close it');
      await succeed(breaker, 10);
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        private failedPeriods = 0;

        // Grows by the wrong unit: the third period in a row lasts for ever.
        protected override open(): void {
          this.failedPeriods = this.era.state === 'half-open' ? this.failedPeriods + 1 : 0;
          const factor = this.failedPeriods < 3 ? 1 : this.failedPeriods * 1_000;
          this.change({ state: 'open', until: Date.now() + this.spec.openMs * factor });
        }
      },
    ),
  }),
];

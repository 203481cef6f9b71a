import assert from 'node:assert/strict';
import { NotOffered, type Work } from '../adapter.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { Manual, observe, watchListeners } from '../observed.js';
import { assertReason } from '../reasons.js';
import { TextbookBreaker, withBreaker, type Call, type Era } from '../textbook/breaker.js';
import { started } from '../textbook/running.js';
import { assertOpens, BREAKER, cooperative, fail, failing, fine, opened, reopenable, succeed } from '../works.js';

/** What a circuit breaker does when it opens, while it is open, and for whom. */
export const BREAKER_OPENING: readonly Guarantee[] = [
  guarantee({
    id: 'breaker-opens-at-its-rate',
    policy: 'breaker',
    sentence: 'Below its rate of failures it stays closed, at the rate it opens, however many calls there have been.',
    seen: 'nestjs-resilience: the counts begin again at each minimum of calls, and failures on both sides do not add up',
    needs: ['breaker'],
    check: async ({ library }) => {
      for (const earlier of [0, 30]) {
        const breaker = library.breaker({ ...BREAKER, minimumCalls: 10 });
        await succeed(breaker, earlier + 6);
        await fail(breaker, earlier + 5);
        assert.equal(
          breaker.state(),
          'closed',
          `${earlier + 5} failures of ${2 * earlier + 11} calls opened it at 50 %`,
        );
        await fail(breaker, 1);
        assert.equal(
          breaker.state(),
          'open',
          `${earlier + 6} failures of ${2 * earlier + 12} calls did not open it at 50 %`,
        );
      }
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override checkRates(): void {
          super.checkRates();
          if (this.era.state === 'closed' && this.isEnough(this.callsInWindow())) this.entries = [];
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-opens-once',
    policy: 'breaker',
    sentence: 'Failures that arrive while it is open neither open it again nor put its half-open period off.',
    seen: 'opossum: with six failures at once the second one stops the timer, and it never is half-open',
    needs: ['breaker'],
    check: async ({ library, clock }) => {
      const breaker = library.breaker({ ...BREAKER });
      const states: string[] = [];
      breaker.onState((state) => states.push(state));
      const manual = new Manual();
      for (let call = 0; call < 50; call += 1) void observe(breaker.run(manual.work));
      await clock.settle();
      for (let call = 0; call < 25; call += 1) manual.reject(call, new Error('down'));
      await clock.tick(BREAKER.openMs / 2);
      for (let call = 25; call < 50; call += 1) manual.reject(call, new Error('down'));
      await clock.settle();
      assert.deepEqual(states, ['open'], `50 failures made it change its state ${states.length} times`);
      await clock.tick(BREAKER.openMs / 2);
      const probe = observe(breaker.run(fine));
      await clock.settle();
      assert.equal(probe.state, 'fulfilled', 'a late failure kept it open for longer');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override leave(call: Call, outcome: 'good' | 'failed' | 'ignored'): void {
          if (this.era.state === 'open' && outcome === 'failed') this.open();
          super.leave(call, outcome);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-runs-nothing-while-open',
    policy: 'breaker',
    sentence: 'While it is open no work starts, and the caller is told so at once.',
    seen: 'breakers around promises: the call has been made by the time it is refused',
    needs: ['breaker', 'refusal'],
    check: async (stage) => {
      const breaker = await opened(stage);
      const manual = new Manual();
      const call = observe(breaker.run(manual.work));
      await stage.clock.settle();
      assert.equal(call.state, 'rejected', 'a call to an open breaker waits');
      assert.ok(stage.library.refusal(call.error), `its error is no refusal: ${String(call.error)}`);
      assert.equal(manual.calls, 0, 'the work ran although the breaker was open');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        override run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
          const promise = started(work, signal);
          promise.catch(() => {});
          return super.run(() => promise, signal);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-open-for-its-time',
    policy: 'breaker',
    sentence: 'It refuses until its time is over, and not for longer because it was asked.',
    seen: 'hand-written breakers: each refused call moves the time of the next attempt',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await opened(stage);
      const manual = new Manual();
      for (let ms = 100; ms < BREAKER.openMs; ms += 100) {
        await stage.clock.tick(100);
        void observe(breaker.run(manual.work));
      }
      await stage.clock.tick(99);
      void observe(breaker.run(manual.work));
      await stage.clock.settle();
      assert.equal(manual.calls, 0, 'it let a call through before its time was over');
      await stage.clock.tick(1);
      void observe(breaker.run(manual.work));
      await stage.clock.settle();
      assert.equal(manual.calls, 1, 'it let no call through when its time was over');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override refuse(waitMs: number): never {
          if (this.era.state === 'open') this.era = { state: 'open', until: Date.now() + this.spec.openMs };
          return super.refuse(waitMs);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-state-needs-no-traffic',
    policy: 'breaker',
    sentence: 'When its time is over its state reads half-open, without a call.',
    seen: 'cockatiel: the state reads open for as long as nobody calls, and the health check stays red',
    needs: ['breaker', 'states'],
    check: async (stage) => {
      const breaker = await opened(stage);
      await stage.clock.tick(BREAKER.openMs - 1);
      assert.equal(breaker.state(), 'open', 'it was half-open before its time');
      await stage.clock.tick(1);
      assert.equal(breaker.state(), 'half-open', 'its time was over, and its state did not say so');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        override state(): Era['state'] {
          return this.era.state;
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-tells-how-long',
    policy: 'breaker',
    sentence: 'A refusal tells how long it stays open from now on.',
    seen: 'hand-written breakers: Retry-After is the whole open time, however much of it is over',
    needs: ['breaker', 'refusal'],
    check: async (stage) => {
      const breaker = await opened(stage);
      await stage.clock.tick(BREAKER.openMs * 0.75);
      const call = observe(breaker.run(fine));
      await stage.clock.settle();
      const told = stage.library.refusal(call.error)?.retryAfterMs;
      if (told === undefined) throw new NotOffered('its refusals tell no time');

      assert.equal(told, BREAKER.openMs / 4, `it told ${told} ms, with ${BREAKER.openMs / 4} ms left`);
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override refuse(waitMs: number): never {
          return super.refuse(waitMs === 0 ? 0 : this.spec.openMs);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-closed-ignores-earlier-failures',
    policy: 'breaker',
    sentence: 'Calls that began before it opened count no more once it has closed again.',
    seen: 'Polly: outcomes that arrive from an earlier period decide over the present one',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = stage.library.breaker({ ...BREAKER });
      // One that is in use: what calls share may be made by the first of them.
      await succeed(breaker, 1);
      const early = new Manual();
      for (let call = 0; call < 4; call += 1) void observe(breaker.run(early.work));
      await stage.clock.settle();
      // More than half of all calls, those in flight included.
      await fail(breaker, 10);
      assert.equal(breaker.state(), 'open', '10 failures did not open it');
      await stage.clock.tick(BREAKER.openMs);
      await succeed(breaker, 1);
      assert.equal(breaker.state(), 'closed', 'a good probe did not close it');
      for (let call = 0; call < 4; call += 1) early.reject(call, new Error('down, long ago'));
      await stage.clock.settle();
      assert.equal(breaker.state(), 'closed', 'failures of calls from before opened it again');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override isCurrent(call: Call): boolean {
          return this.era.state === 'closed' || super.isCurrent(call);
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-starts-afresh',
    policy: 'breaker',
    sentence: 'Once it has closed again, the failures that had opened it no longer count.',
    seen: 'opossum: the counts outlive the closing, and the next failure opens it again',
    needs: ['breaker'],
    check: async (stage) => {
      const breaker = await reopenable(stage);
      await succeed(breaker, 1);
      await fail(breaker, 2);
      assert.equal(breaker.state(), 'closed', '2 failures after it had closed opened it, and its minimum is 4');
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override close(): void {
          this.change({ state: 'closed' });
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-shares-no-state',
    policy: 'breaker',
    sentence: 'Two breakers made from one object of options know nothing of each other.',
    seen: 'opossum: what it counts is written into the options, and the next one made from them shares it',
    needs: ['breaker'],
    check: async ({ library }) => {
      const spec = { ...BREAKER };
      const [one, other] = [library.breaker(spec), library.breaker(spec)];
      await fail(one, 4);
      assert.equal(one.state(), 'open', '4 failures did not open it');
      assert.equal(other.state(), 'closed', 'the failures of one breaker opened another');
      await succeed(other, 1);
    },
    mutant: (ours) => {
      const made = new WeakMap<object, TextbookBreaker>();
      return {
        ...ours,
        breaker: (spec) => {
          const known = made.get(spec) ?? new TextbookBreaker(spec, ours);
          made.set(spec, known);
          return known;
        },
      };
    },
  }),
  guarantee({
    id: 'breaker-keeps-the-callers-reason',
    policy: 'breaker',
    sentence: 'A call that its caller aborts is rejected with the caller’s own reason.',
    seen: 'cockatiel: the reason is lost on the way, and the caller gets an error it does not know',
    needs: ['breaker'],
    check: async ({ library, clock }) => {
      const breaker = library.breaker({ ...BREAKER });
      const controller = new AbortController();
      const reason = new Error('the caller left');
      const call = observe(breaker.run(cooperative(controller.signal), controller.signal));
      await clock.settle();
      controller.abort(reason);
      await clock.settle();
      assert.equal(call.state, 'rejected', 'the call stayed pending');
      await assertOpens(breaker, BREAKER.minimumCalls);
      assertReason(library, call.error, { reason, what: 'it was rejected with' });
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        override async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
          try {
            return await super.run(work, signal);
          } catch (error) {
            if (this.isCancelled(error, signal)) throw new Error('The operation was cancelled', { cause: error });
            throw error;
          }
        }
      },
    ),
  }),
  guarantee({
    id: 'breaker-leaves-no-listener',
    policy: 'breaker',
    sentence: 'Calls leave no listener on a signal that outlives them.',
    seen: 'cockatiel: one abort listener stays for each call, until Node warns of a leak',
    needs: ['breaker', 'signals'],
    check: async ({ library }) => {
      const { signal } = new AbortController();
      const listeners = watchListeners(signal);
      const breaker = library.breaker({ ...BREAKER, minimumCalls: 200 });
      for (let call = 0; call < 100; call += 1) await breaker.run(fine, signal);
      for (let call = 0; call < 100; call += 1) await breaker.run(failing, signal).catch(() => {});
      assert.equal(breaker.state(), 'open', '100 failures of 200 calls did not open it at 50 %');
      // Refused by now.
      for (let call = 0; call < 100; call += 1) await breaker.run(fine, signal).catch(() => {});
      assert.equal(listeners(), 0, `300 calls left ${listeners()} listeners`);
    },
    mutant: withBreaker(
      class extends TextbookBreaker {
        protected override attempt<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
          return new Promise<T>((resolve, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason as Error));
            started(work, signal).then(resolve, reject);
          });
        }
      },
    ),
  }),
];

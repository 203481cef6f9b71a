import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { CountedExecution } from '../test/counted-execution.js';
import { passQuickly, useFakeClock } from '../test/fake-clock.js';
import { ManualWork } from '../test/manual-work.js';
import { microtasks } from '../test/outcome.js';
import { INTERVAL, OPEN_DURATION, RandomStack, stageRecipe } from '../test/random-stack.js';
import { WatchedController } from '../test/watched-signal.js';
import { CallModel } from './execution.model.js';
import type { ExecuteOptions, Execution } from './execution.js';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  RetryPolicy,
  TimeoutPolicy,
  type AttemptContext,
  type ResiliencePolicy,
} from './index.js';
import { followSignal } from './signals.js';

useFakeClock();

const WORKS = ['answer', 'throw', 'manual', 'sleep', 'honour', 'nested', 'nested with signal'] as const;

type Command =
  | {
      readonly kind: 'call';
      readonly work: (typeof WORKS)[number];
      readonly how: 'promise' | 'keep' | 'abandon';
      readonly shared: boolean;
    }
  | { readonly kind: 'end'; readonly which: number; readonly fails: boolean }
  | { readonly kind: 'abort'; readonly which: number; readonly afterCallbacks: number }
  | { readonly kind: 'pass'; readonly milliseconds: number };

const kind = <K extends string>(name: K): fc.Arbitrary<K> => fc.constant(name);

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: kind('call'),
      work: fc.constantFrom(...WORKS),
      how: fc.constantFrom('promise', 'keep', 'abandon'),
      shared: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind('end'), which: fc.nat(9), fails: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('abort'), which: fc.nat(9), afterCallbacks: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('pass'), milliseconds: fc.nat(25) }) },
);

/** A caller, who leaves all calls that it has made with one signal. */
interface Caller {
  readonly controller: WatchedController;
  readonly all: CallModel[];
  /** Those that are told when their caller leaves. */
  readonly told: CallModel[];
}

const outage = new Error('outage');

class Trial {
  readonly models: CallModel[] = [];
  private readonly manual = new ManualWork();
  private ended = 0;
  private readonly callers: Caller[] = [];
  /** Calls whose caller has left in the midst of a callback. */
  private readonly leavers: CallModel[] = [];
  private sharing: Caller;

  constructor(private readonly stack: RandomStack) {
    stack.slowAnswer = this.manual.run;
    stack.onEvent = ({ source, type }) => {
      if (source !== undefined) this.models[Number(source)]?.hear(type);
    };
    this.sharing = this.newCaller();
  }

  async run(command: Command): Promise<void> {
    if (command.kind === 'call') this.call(command);
    else if (command.kind === 'end') this.end(command.fails);
    else if (command.kind === 'abort') this.abortSoon(command.which, command.afterCallbacks);
    else await passQuickly(command.milliseconds);
    await microtasks();
    for (const call of this.leavers.splice(0)) call.aborted();
  }

  /** All work ends, callers whose calls still hang leave, all time passes. */
  async finish(): Promise<void> {
    this.stack.inCallback = () => {};
    await this.runDown();
    for (const caller of this.callers.filter(({ all }) => all.some((call) => !call.isSettled))) {
      for (const call of this.abort(caller, false)) call.aborted();
    }
    await this.runDown();
    for (const model of this.models) model.end();
  }

  async check(): Promise<void> {
    expect(this.models.flatMap((model) => model.problems)).toEqual([]);
    expect(vi.getTimerCount(), 'timers').toBe(0);
    expect(this.callers.map(({ controller }) => controller.listeners).filter((count) => count > 0)).toEqual([]);
    for (const { active, queued, abandoned } of this.stack.of(BulkheadPolicy)) {
      expect({ active, queued, abandoned }).toEqual({ active: 0, queued: 0, abandoned: 0 });
    }
    await passQuickly(Math.max(OPEN_DURATION, 4 * INTERVAL));
    for (const breaker of this.stack.of(CircuitBreakerPolicy)) {
      expect(breaker.stats.slowCalls ?? 0).toBeLessThanOrEqual(breaker.stats.total);
      expect(await breaker.execute(() => 'a place is free').catch(() => 'a probe was lost')).toBe('a place is free');
    }
    for (const limit of this.stack.of(OutboundRateLimitPolicy)) expect(limit.available).toBeGreaterThan(0);
  }

  private call({ work, how, shared }: Extract<Command, { kind: 'call' }>): void {
    const caller = shared ? this.sharing : this.newCaller();
    const model = new CallModel();
    const options = { signal: caller.controller.signal, source: String(this.models.length) };
    const body = (context: AttemptContext): unknown => {
      model.begin();
      return this.perform(work, context);
    };
    this.models.push(model);
    caller.all.push(model);
    if (how === 'promise') {
      // A promise tells of its outcome later than it has one, so the model is not told who leaves.
      const deliver = (value: unknown): void => model.deliver(true, value);
      void this.stack.policy.execute(body, options).then(deliver, deliver);
      return;
    }

    caller.told.push(model);
    const onDelivery = (ok: boolean, value: unknown): void => model.deliver(ok, value);
    const keepsSlots = how === 'keep';
    new CountedExecution({ policy: this.stack.policy, work: body, options, keepsSlots, onDelivery }).start();
  }

  private perform(work: (typeof WORKS)[number], context: AttemptContext): unknown {
    if (work === 'answer') return 'answer';
    if (work === 'throw') throw outage;
    if (work === 'manual') return this.manual.run(context);
    if (work === 'sleep') return new Promise((resolve) => setTimeout(resolve, 12));
    if (work === 'honour') {
      const { signal } = context;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }
    const options: ExecuteOptions = work === 'nested' ? {} : { signal: context.signal };
    return this.stack.policy.execute(this.manual.run, options);
  }

  private async runDown(): Promise<void> {
    for (let round = 0; round < 50 && (vi.getTimerCount() > 0 || this.ended < this.manual.calls.length); round++) {
      while (this.ended < this.manual.calls.length) this.end(false);
      await passQuickly(10);
    }
    await microtasks();
  }

  private end(fails: boolean): void {
    const run = this.manual.calls[this.ended];
    if (run === undefined) return;

    this.ended += 1;
    if (fails) run.fail(outage);
    else run.answer();
  }

  /** Lets a caller leave now, or in the middle of the so many-th callback from now. */
  private abortSoon(which: number, afterCallbacks: number): void {
    const caller = this.callers[this.callers.length - 1 - (which % this.callers.length)] as Caller;
    let left = afterCallbacks;
    this.stack.inCallback = () => {
      if (--left === 0) this.leavers.push(...this.abort(caller, true));
    };
    if (afterCallbacks === 0) for (const call of this.abort(caller, false)) call.aborted();
  }

  /** Returns the calls that have to settle because of it. */
  private abort(caller: Caller, isInMidst: boolean): readonly CallModel[] {
    const { controller, told } = caller;
    if (controller.signal.aborted) return [];

    if (caller === this.sharing) this.sharing = this.newCaller();
    const reason = new Error('left');
    for (const call of told) call.abort(reason, isInMidst);
    controller.abort(reason);
    return told;
  }

  private newCaller(): Caller {
    const caller = { controller: new WatchedController(), all: [], told: [] };
    this.callers.push(caller);
    return caller;
  }
}

const settlesOnceAndLeavesNothing = (makeFault?: () => ResiliencePolicy) =>
  fc.asyncProperty(
    fc.array(stageRecipe, { maxLength: 5 }),
    fc.array(command, { maxLength: 100, size: 'max' }),
    async (recipes, commands) => {
      const trial = new Trial(new RandomStack(recipes, makeFault === undefined ? [] : [makeFault()]));
      for (const next of commands) await trial.run(next);
      await trial.finish();
      await trial.check();
    },
  );

class ForgetsItsTimer extends TimeoutPolicy {
  override leave(execution: Execution, at: number): boolean {
    if (execution.cutting) execution.setFrame(at, undefined);

    return super.leave(execution, at);
  }
}

class ForgetsItsListener extends FallbackPolicy {
  override enter(execution: Execution, at: number): boolean {
    const { signal } = Reflect.get(execution, 'options') as ExecuteOptions;
    if (signal !== undefined) followSignal(signal, { onAbort: () => {} });

    return super.enter(execution, at);
  }

  override leave(execution: Execution, at: number): boolean {
    execution.setFrame(at, undefined);

    return true;
  }
}

class SettlesTwice extends TimeoutPolicy {
  override expire(...args: Parameters<TimeoutPolicy['expire']>): void {
    super.expire(...args);
    (Reflect.get(args[0].execution, 'finish') as () => void).call(args[0].execution);
  }
}

class RepeatsForNobody extends RetryPolicy {
  override leave(execution: Execution, at: number): boolean {
    if (execution.cutting) setTimeout(() => execution.proceed(at + 1), 5);

    return super.leave(execution, at);
  }
}

class LosesASlot extends BulkheadPolicy {
  override leave(execution: Execution, at: number): boolean {
    if (execution.cutting) execution.setFrame(at, undefined);

    return super.leave(execution, at);
  }
}

class LosesAProbe extends CircuitBreakerPolicy {
  override leave(execution: Execution, at: number): boolean {
    if (execution.cutting) execution.setFrame(at, undefined);

    return super.leave(execution, at);
  }
}

describe('any stack of policies under random aborts', { timeout: 120_000 }, () => {
  it('settles each call exactly once and leaves no timer, no listener, no slot and no probe', async () => {
    await fc.assert(settlesOnceAndLeavesNothing(), { numRuns: 1_000 });
  });

  it.each<[string, () => ResiliencePolicy]>([
    ['forgets a timer', () => new ForgetsItsTimer(15)],
    ['forgets a listener', () => new ForgetsItsListener(() => 1)],
    ['settles a call twice', () => new SettlesTwice(5)],
    ['runs work for nobody', () => new RepeatsForNobody(2)],
    ['loses a slot', () => new LosesASlot({ maxConcurrent: 3, maxQueue: 3, queueTimeout: 20 })],
    ['loses a probe', () => new LosesAProbe({ minimumCalls: 1, openDuration: OPEN_DURATION })],
  ])('is told from one that %s', async (_fault, makeFault) => {
    const property = settlesOnceAndLeavesNothing(makeFault);
    const { failed, errorInstance } = await fc.check(property, { numRuns: 1_000, endOnFailure: true });
    vi.clearAllTimers();

    expect(failed).toBe(true);
    expect(errorInstance).toMatchObject({ name: 'AssertionError' });
  });
});

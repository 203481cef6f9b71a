import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passQuickly, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork, type ManualCall } from '../../test/manual-work.js';
import { microtasks, outcomeOf } from '../../test/outcome.js';
import type { Execution } from '../execution.js';
import { CircuitBreakerPolicy, CircuitOpenError, type CircuitBreakerOptions } from '../index.js';
import { EventRecorder } from '../testing/index.js';
import type { Permit } from './calls-in-flight.js';
import { BreakerModel, type Admitted, type BreakerSettings } from './circuit-breaker.model.js';

useFakeClock();

type Command =
  | { readonly kind: 'call' | 'look' | 'trip' | 'reset' }
  | { readonly kind: 'settle'; readonly which: number; readonly how: 'answer' | 'fail' | 'blame caller' | 'abort' }
  | { readonly kind: 'pass'; readonly milliseconds: number };

const settings: fc.Arbitrary<BreakerSettings> = fc
  .record({
    failureRateThreshold: fc.constantFrom(1, 25, 34, 50, 67, 100),
    minimumCalls: fc.integer({ min: 1, max: 5 }),
    type: fc.constantFrom('count' as const, 'time' as const),
    size: fc.constantFrom(5, 7, 10, 40),
    openDuration: fc.constantFrom(0, 1, 10, 50),
    halfOpenMaxCalls: fc.integer({ min: 1, max: 4 }),
    probeLease: fc.constantFrom(5, 20, 1_000),
    consecutiveFailures: fc.constantFrom(2, 4, 1_000),
  })
  .map(({ type, size, ...rest }) => ({ ...rest, slidingWindow: { type, size: type === 'time' ? size * 10 : size } }));

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ kind: 'call' } as const) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      which: fc.nat(7),
      how: fc.constantFrom('answer', 'fail', 'fail', 'blame caller', 'abort'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), milliseconds: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('look', 'trip', 'reset') }) },
);

/** A call that both the breaker and the model have let in, and that has not settled. */
interface Running {
  readonly manual: ManualCall;
  readonly admitted: Admitted;
  readonly controller: AbortController;
}

const outage = new Error('outage');
const notFound = Object.assign(new Error('not found'), { status: 404 });

/** Does the same to a breaker and to the model, and compares what can be seen of them. */
class Comparison {
  private readonly work = new ManualWork();
  private readonly running: Running[] = [];
  private readonly recorder: EventRecorder;

  constructor(
    private readonly breaker: CircuitBreakerPolicy,
    private readonly model: BreakerModel,
  ) {
    this.recorder = new EventRecorder(breaker);
  }

  async run(command: Command): Promise<void> {
    if (command.kind === 'call') await this.call();
    else if (command.kind === 'settle') await this.settle(command.which, command.how);
    else if (command.kind === 'pass') await passQuickly(command.milliseconds);
    else this[command.kind]();
    this.compare();
  }

  look(): void {
    this.model.look(Date.now());
    expect(this.breaker.state).toBe(this.model.states.at(-1));
  }

  private trip(): void {
    this.breaker.trip();
    this.model.enter('open', Date.now());
  }

  private reset(): void {
    this.breaker.reset();
    this.model.enter('closed');
  }

  private async call(): Promise<void> {
    const controller = new AbortController();
    const ran = this.work.calls.length;
    const outcome = outcomeOf(this.breaker.execute(this.work.run, { signal: controller.signal }));
    const admitted = this.model.call(Date.now());
    await microtasks();

    if (typeof admitted === 'number') {
      expect(outcome.value).toBeInstanceOf(CircuitOpenError);
      expect(outcome.value).toMatchObject({ retryAfterMs: admitted });
    } else {
      expect(this.work.calls.length).toBe(ran + 1);
      this.running.push({ manual: this.work.call(ran), admitted, controller });
    }
  }

  private async settle(which: number, how: 'answer' | 'fail' | 'blame caller' | 'abort'): Promise<void> {
    const [call] = this.running.splice(which % Math.max(1, this.running.length), 1);
    if (call === undefined) return;

    if (how === 'abort') call.controller.abort(outage);
    else if (how === 'answer') call.manual.answer();
    else call.manual.fail(how === 'fail' ? outage : notFound);
    await microtasks();
    const failed = how === 'answer' ? false : how === 'fail' ? true : undefined;
    this.model.settle(call.admitted, failed, Date.now());
  }

  private compare(): void {
    const transitions = this.recorder.types.filter((type) => type !== 'circuit-rejected').join();
    const expected = this.model.states
      .slice(1)
      .map((state) => `circuit-${state}`)
      .join();
    if (transitions !== expected) expect(transitions).toBe(expected);
    const expectedStats = this.model.stats(Date.now());
    const { total, failures, failureRate } = this.breaker.stats;
    if (
      total === expectedStats.total &&
      failures === expectedStats.failures &&
      failureRate === expectedStats.failureRate
    ) {
      return;
    }
    expect(this.breaker.stats).toEqual(expectedStats);
  }
}

type Breaker = new (options: CircuitBreakerOptions) => CircuitBreakerPolicy;

const behavesAsTheModel = (Breaker: Breaker) =>
  fc.asyncProperty(settings, fc.array(command, { maxLength: 100, size: 'max' }), async (given, commands) => {
    const comparison = new Comparison(new Breaker(given), new BreakerModel(given));
    for (const next of commands) await comparison.run(next);
    comparison.look();
  });

class LetsOneProbeTooManyThrough extends CircuitBreakerPolicy {
  constructor(options: CircuitBreakerOptions) {
    super({ ...options, halfOpenMaxCalls: (options.halfOpenMaxCalls ?? 1) + 1 });
  }
}

class CountsStaleOutcomes extends CircuitBreakerPolicy {
  override leave(execution: Execution, at: number): boolean {
    const permit = execution.frame(at) as Permit | undefined;
    const era = Reflect.get(this, 'era') as { state: string };
    if (permit !== undefined && era.state === 'closed') Object.assign(permit, { era });

    return super.leave(execution, at);
  }
}

class LosesTheProbeOfAnIgnoredOutcome extends CircuitBreakerPolicy {
  override leave(execution: Execution, at: number): boolean {
    if (execution.value === notFound || execution.cutting) execution.setFrame(at, undefined);

    return super.leave(execution, at);
  }
}

class OpensAboveTheThresholdOnly extends CircuitBreakerPolicy {
  constructor(options: CircuitBreakerOptions) {
    super({ ...options, failureRateThreshold: Math.min(100, (options.failureRateThreshold ?? 50) + 1e-9) });
  }
}

class KeepsLostProbes extends CircuitBreakerPolicy {
  constructor(options: CircuitBreakerOptions) {
    super({ ...options, probeLease: '1w' });
  }
}

class IgnoresTripWhileOpen extends CircuitBreakerPolicy {
  override trip(): void {
    if (this.state !== 'open') super.trip();
  }
}

describe('a circuit breaker under random calls, outcomes, clock steps and manual control', { timeout: 120_000 }, () => {
  it('does what the model does', async () => {
    await fc.assert(behavesAsTheModel(CircuitBreakerPolicy), { numRuns: 1_000 });
  });

  it.each<[string, Breaker]>([
    ['lets one probe too many through', LetsOneProbeTooManyThrough],
    ['counts outcomes of an earlier era', CountsStaleOutcomes],
    ['loses the place of a probe that says nothing', LosesTheProbeOfAnIgnoredOutcome],
    ['opens only above its threshold', OpensAboveTheThresholdOnly],
    ['waits for lost probes for ever', KeepsLostProbes],
    ['does not restart its open time on trip()', IgnoresTripWhileOpen],
  ])('is told from one that %s', async (_fault, Faulty) => {
    const { failed, errorInstance } = await fc.check(behavesAsTheModel(Faulty), { numRuns: 1_000, endOnFailure: true });

    expect(failed).toBe(true);
    expect(errorInstance).toMatchObject({ name: 'AssertionError' });
  });
});

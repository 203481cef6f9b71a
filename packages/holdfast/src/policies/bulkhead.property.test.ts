import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { passQuickly, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { microtasks, outcomeOf, type Outcome } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import type { Execution } from '../execution.js';
import {
  BulkheadFullError,
  BulkheadPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  TimeoutPolicy,
  type AttemptContext,
  type BulkheadOptions,
} from '../index.js';
import { BulkheadModel, type BulkheadSettings } from './bulkhead.model.js';

useFakeClock();

type Command =
  | { readonly kind: 'arrive'; readonly quick: boolean; readonly throws: boolean }
  | { readonly kind: 'end'; readonly which: number; readonly fails: boolean }
  | { readonly kind: 'abort'; readonly which: number; readonly howMany: number }
  | { readonly kind: 'pass'; readonly milliseconds: number };

const settings: fc.Arbitrary<BulkheadSettings> = fc.record({
  maxConcurrent: fc.integer({ min: 1, max: 3 }),
  maxQueue: fc.constantFrom(0, 1, 2, 4, 1_000),
  queueTimeout: fc.constantFrom(0, 10, 30, 1_000_000),
  timeout: fc.constantFrom(5, 20, 50, 2_000_000),
  holdUntilSettled: fc.boolean(),
});

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('arrive' as const), quick: fc.boolean(), throws: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat(9), fails: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('abort' as const),
      which: fc.nat(9),
      howMany: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), milliseconds: fc.nat(40) }) },
);

interface Arrived {
  readonly outcome: Outcome;
  readonly controller: WatchedController;
  readonly work: ManualWork;
}

const outage = new Error('outage');
const left = new Error('left');

/** Does the same to a bulkhead inside a timeout and to the model, and compares what can be seen of them. */
class Comparison {
  private readonly policy: ResiliencePolicy;
  private readonly arrived: Arrived[] = [];
  private readonly started: number[] = [];

  constructor(
    private readonly bulkhead: BulkheadPolicy,
    private readonly model: BulkheadModel,
    { timeout }: BulkheadSettings,
  ) {
    this.policy = ResiliencePolicy.wrap(new TimeoutPolicy(timeout), bulkhead);
  }

  async run(command: Command): Promise<void> {
    if (command.kind === 'pass') {
      const until = Date.now() + command.milliseconds;
      await passQuickly(command.milliseconds);
      this.model.pass(until);
    } else {
      if (command.kind === 'arrive') this.arrive(command.quick, command.throws);
      else if (command.kind === 'end') this.end(command.which, command.fails);
      else this.abort(command.which, command.howMany);
      await microtasks();
      this.model.begin();
    }
    this.compare();
  }

  /** Ends all that still runs, so that nothing may be left. */
  async finish(): Promise<void> {
    for (let index = 0; index < this.arrived.length; index++) {
      await this.run({ kind: 'end', which: 0, fails: false });
      await this.run({ kind: 'abort', which: index, howMany: 1 });
    }
    expect(this.bulkhead).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
    expect(this.arrived.filter(({ controller }) => controller.listeners > 0)).toEqual([]);
  }

  private arrive(quick: boolean, throws: boolean): void {
    const index = this.arrived.length;
    const controller = new WatchedController();
    const work = new ManualWork();
    const body = (context: AttemptContext): unknown => {
      this.started.push(index);
      if (!quick) return work.run(context);
      if (throws) throw outage;
      return 'answer';
    };
    const outcome = outcomeOf(this.policy.execute(body, { signal: controller.signal }));
    this.arrived.push({ outcome, controller, work });
    this.model.arrive(quick, Date.now());
  }

  private end(which: number, fails: boolean): void {
    const working = [...this.model.calls.keys()].filter((index) => this.model.calls[index]?.works);
    const index = working[which % Math.max(1, working.length)];
    if (index === undefined) return;

    const run = this.arrived[index]?.work.call(0);
    if (fails) run?.fail(outage);
    else run?.answer('answer');
    const call = this.model.calls[index] as BulkheadModel['calls'][number];
    call.works = false;
    this.model.leave(call, 'answer');
  }

  private abort(which: number, howMany: number): void {
    for (let index = which; index < which + howMany; index++) {
      this.arrived[index]?.controller.abort(left);
      const call = this.model.calls[index];
      if (call !== undefined && call.ended === undefined) this.model.leave(call, 'abort');
    }
  }

  private compare(): void {
    const { active, queued, abandoned } = this.bulkhead;
    const counts = this.model.counts();
    const agrees = active === counts.active && queued === counts.queued && abandoned === counts.abandoned;
    if (!agrees) expect({ active, queued, abandoned }).toEqual(counts);
    if (this.started.join() !== this.model.started.join()) expect(this.started).toEqual(this.model.started);
    const ended = this.arrived.map(({ outcome }) => endOf(outcome)).join();
    const expected = this.model.calls.map((call) => call.ended).join();
    if (ended !== expected) expect(ended).toBe(expected);
  }
}

function endOf({ state, value }: Outcome): string | undefined {
  if (state === 'pending') return undefined;
  if (value instanceof BulkheadFullError) return value.reason;
  if (value instanceof ResilienceTimeoutError) return 'timeout';

  return value === left ? 'abort' : 'answer';
}

type Bulkhead = new (options: BulkheadOptions) => BulkheadPolicy;

const behavesAsTheModel = (Bulkhead: Bulkhead) =>
  fc.asyncProperty(settings, fc.array(command, { maxLength: 100, size: 'max' }), async (given, commands) => {
    const { timeout, ...options } = given;
    const comparison = new Comparison(new Bulkhead(options), new BulkheadModel(given), given);
    for (const next of commands) await comparison.run(next);
    await comparison.finish();
  });

class LosesTheSlotOfAFailure extends BulkheadPolicy {
  override leave(execution: Execution, at: number): boolean {
    if (!execution.ok && execution.value === outage) execution.setFrame(at, undefined);

    return super.leave(execution, at);
  }
}

class ReleasesTwiceOnAnAbort extends BulkheadPolicy {
  override leave(execution: Execution, at: number): boolean {
    const frame = execution.frame(at);
    if (execution.value === left && execution.cutting && this.active > 1 && frame !== undefined) this.release();

    return super.leave(execution, at);
  }
}

class LosesTheSlotOfAGrantThatMetAnAbort extends BulkheadPolicy {
  override leave(execution: Execution, at: number): boolean {
    const frame = execution.frame(at) as { isGranted?: boolean } | undefined;
    if (frame?.isGranted === true) execution.setFrame(at, undefined);

    return super.leave(execution, at);
  }
}

class ServesTheLastOneFirst extends BulkheadPolicy {
  override release(): void {
    const queue = Reflect.get(this, 'queue') as {
      last?: object;
      first?: object;
      remove(waiter: object): void;
      insert(waiter: object, behind: object | undefined): void;
    };
    const { first, last } = queue;
    if (first !== undefined && first !== last) {
      queue.remove(first);
      queue.insert(first, last);
    }
    super.release();
  }
}

class GivesAbandonedSlotsBackAtOnce extends BulkheadPolicy {
  constructor(options: BulkheadOptions) {
    super({ ...options, holdUntilSettled: false });
  }
}

describe('a bulkhead under random arrivals, aborts, timeouts and throws', { timeout: 120_000 }, () => {
  it('does what the model does, loses nobody and ends empty', async () => {
    await fc.assert(behavesAsTheModel(BulkheadPolicy), { numRuns: 1_000 });
  });

  it.each<[string, Bulkhead]>([
    ['loses the slot of a call that fails', LosesTheSlotOfAFailure],
    ['gives a slot back twice', ReleasesTwiceOnAnAbort],
    ['loses a slot when its grant meets an abort', LosesTheSlotOfAGrantThatMetAnAbort],
    ['serves others before the head of its queue', ServesTheLastOneFirst],
    ['lets more work run than its limit says', GivesAbandonedSlotsBackAtOnce],
  ])('is told from one that %s', async (_fault, Faulty) => {
    const { failed, errorInstance } = await fc.check(behavesAsTheModel(Faulty), { numRuns: 1_000, endOnFailure: true });
    vi.clearAllTimers();

    expect(failed).toBe(true);
    expect(errorInstance).toMatchObject({ name: 'AssertionError' });
  });
});

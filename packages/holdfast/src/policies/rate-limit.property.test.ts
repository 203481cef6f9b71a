import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { passQuickly, useFakeClock } from '../../test/fake-clock.js';
import { microtasks, outcomeOf, type Outcome } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import type { Execution } from '../execution.js';
import { OutboundRateLimitError, OutboundRateLimitPolicy, type OutboundRateLimitOptions } from '../index.js';
import { RateLimitModel, type RateLimitSettings } from './rate-limit.model.js';

useFakeClock();

type Command =
  | { readonly kind: 'call'; readonly fails: boolean }
  | { readonly kind: 'abort'; readonly which: number }
  | { readonly kind: 'pass'; readonly milliseconds: number };

const settings: fc.Arbitrary<RateLimitSettings> = fc.record({
  limit: fc.integer({ min: 1, max: 5 }),
  perToken: fc.constantFrom(1, 3, 10, 25),
  maxWait: fc.constantFrom(0, 10, 50, 1_000),
});

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('call' as const), fails: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('abort' as const), which: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), milliseconds: fc.nat(30) }) },
);

interface Waiting {
  readonly controller: WatchedController;
  /** When it starts. */
  readonly turn: number;
}

/** Does the same to a rate limit and to the model, and compares what can be seen of them. */
class Comparison {
  private readonly waiting: Waiting[] = [];
  private readonly early: Waiting[] = [];
  private readonly controllers: WatchedController[] = [];

  constructor(
    private readonly limit: OutboundRateLimitPolicy,
    private readonly model: RateLimitModel,
    private readonly settings: RateLimitSettings,
  ) {}

  async run(command: Command): Promise<void> {
    if (command.kind === 'call') await this.call(command.fails);
    else if (command.kind === 'abort') await this.abort(command.which);
    else await passQuickly(command.milliseconds);
    if (this.limit.available !== this.model.available(Date.now())) {
      expect(this.limit.available).toBe(this.model.available(Date.now()));
    }
    const late = this.waiting.filter(({ turn }) => turn < Date.now());
    if (late.length + this.early.length > 0) {
      expect([...this.early, ...late], 'calls that miss their turns').toEqual([]);
    }
  }

  async finish(): Promise<void> {
    while (this.waiting.length > 0) await this.run({ kind: 'pass', milliseconds: 1 });
    expect(this.model.overrun()).toBeUndefined();
    expect(this.controllers.filter(({ listeners }) => listeners > 0)).toEqual([]);
  }

  private async call(fails: boolean): Promise<void> {
    const now = Date.now();
    const wait = this.model.wait(now);
    const controller = new WatchedController();
    const entry = { controller, turn: now + wait };
    this.controllers.push(controller);
    const outcome = outcomeOf(this.limit.execute(() => this.start(entry, fails), { signal: controller.signal }));
    await microtasks();

    this.expectWait(outcome, wait);
    if (outcome.state !== 'pending') return;

    this.waiting.push(entry);
    this.model.enqueue(entry.turn);
  }

  private expectWait(outcome: Outcome, wait: number): void {
    const refused = wait > this.settings.maxWait;
    expect(outcome.value instanceof OutboundRateLimitError).toBe(refused);
    if (refused) expect(outcome.value).toMatchObject({ retryAfterMs: wait });
    else expect(outcome.state === 'pending').toBe(wait > 0);
  }

  private start(entry: Waiting, fails: boolean): void {
    this.model.starts.push(Date.now());
    const index = this.waiting.indexOf(entry);
    if (index >= 0) {
      this.waiting.splice(index, 1);
      this.model.dequeue(entry.turn);
      if (Date.now() < entry.turn) this.early.push(entry);
    }
    if (fails) throw new Error('outage');
  }

  private async abort(which: number): Promise<void> {
    const [entry] = this.waiting.splice(which % Math.max(1, this.waiting.length), 1);
    if (entry === undefined) return;

    entry.controller.abort();
    this.model.dequeue(entry.turn);
    await microtasks();
  }
}

type RateLimit = new (options: OutboundRateLimitOptions) => OutboundRateLimitPolicy;

const behavesAsTheModel = (RateLimit: RateLimit) =>
  fc.asyncProperty(settings, fc.array(command, { maxLength: 100, size: 'max' }), async (given, commands) => {
    const { limit, perToken, maxWait } = given;
    const policy = new RateLimit({ limit, interval: limit * perToken, maxWait });
    const comparison = new Comparison(policy, new RateLimitModel(given), given);
    for (const next of commands) await comparison.run(next);
    await comparison.finish();
  });

interface Turn {
  turn: number;
}

const fields = (policy: OutboundRateLimitPolicy) =>
  policy as unknown as {
    tokens: number;
    line: { first: Turn | undefined; last: Turn | undefined };
  };

class RefundsTheTokenOfAFailure extends OutboundRateLimitPolicy {
  override leave(execution: Execution, at: number): boolean {
    if (!execution.ok && !execution.cutting) fields(this).tokens += 1;

    return super.leave(execution, at);
  }
}

class ForgetsWhoWaits extends OutboundRateLimitPolicy {
  override enter(execution: Execution, at: number): boolean {
    const { line } = fields(this);
    const { first } = line;
    line.first = undefined;
    const goesOn = super.enter(execution, at);
    if (first !== undefined) line.first = first;

    return goesOn;
  }
}

class LetsTwoCallsStartAtOneTurn extends OutboundRateLimitPolicy {
  override enter(execution: Execution, at: number): boolean {
    const { last } = fields(this).line;
    const goesOn = super.enter(execution, at);
    const frame = execution.frame(at) as Turn | undefined;
    if (last !== undefined && frame !== undefined && frame === fields(this).line.last) frame.turn = last.turn;

    return goesOn;
  }

  /** The bucket would put the second one off. */
  override serveAnew(): void {
    fields(this).tokens = Math.max(2, fields(this).tokens);
    super.serveAnew();
  }
}

class HoldsOneTokenTooMany extends OutboundRateLimitPolicy {
  constructor(options: OutboundRateLimitOptions) {
    super({ ...options, limit: options.limit + 1 });
  }
}

describe('an outbound rate limit under random calls, aborts, failures and clock steps', { timeout: 120_000 }, () => {
  it('starts at most limit + limit x T / interval calls over any span T, each at the moment that the model says', async () => {
    await fc.assert(behavesAsTheModel(OutboundRateLimitPolicy), { numRuns: 1_000 });
  });

  it.each<[string, RateLimit]>([
    ['refunds the token of a call that fails', RefundsTheTokenOfAFailure],
    ['forgets who waits', ForgetsWhoWaits],
    ['lets two calls start at one turn when one has left', LetsTwoCallsStartAtOneTurn],
    ['holds one token too many', HoldsOneTokenTooMany],
  ])('is told from one that %s', async (_fault, Faulty) => {
    const { failed, errorInstance } = await fc.check(behavesAsTheModel(Faulty), { numRuns: 1_000, endOnFailure: true });
    vi.clearAllTimers();

    expect(failed).toBe(true);
    expect(errorInstance).toMatchObject({ name: 'AssertionError' });
  });
});

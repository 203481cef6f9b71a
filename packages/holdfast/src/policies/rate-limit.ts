import { brand } from '../brand.js';
import { now } from '../clock.js';
import { parseDuration, type Duration } from '../duration.js';
import { OutboundRateLimitError } from '../errors.js';
import type { Execution } from '../execution.js';
import { rejectUnknown, requireCount, requireName, requireObject } from '../options.js';
import { StagePolicy } from '../policy.js';
import { startTimer, stopTimer, type Timer } from '../timers.js';

export interface OutboundRateLimitOptions {
  /** Shown in events and errors. Default `'outbound-rate-limit'`. */
  readonly name?: string | undefined;
  /** How many calls may start per `interval`: whole, at least 1. Also the largest burst. */
  readonly limit: number;
  /** Greater than 0. */
  readonly interval: Duration;
  /** How long a call waits for its turn at most. Default 0: it is refused. */
  readonly maxWait?: Duration | undefined;
}

export interface ResolvedOutboundRateLimitOptions {
  readonly name: string;
  readonly limit: number;
  readonly interval: number;
  readonly maxWait: number;
}

/**
 * Validates options and fills in the defaults.
 *
 * @throws TypeError naming the option.
 */
export function resolveOutboundRateLimitOptions(options: OutboundRateLimitOptions): ResolvedOutboundRateLimitOptions {
  requireObject(options, '', "Use { limit: 100, interval: '1s' }.");
  rejectUnknown(options, ['name', 'limit', 'interval', 'maxWait']);
  const { name = 'outbound-rate-limit', limit, interval, maxWait = 0 } = options;

  return {
    name: requireName(name, 'name'),
    limit: requireCount(limit, 'limit', { min: 1 }),
    interval: parseDuration(interval, 'interval', { positive: true }),
    maxWait: parseDuration(maxWait, 'maxWait'),
  };
}

/**
 * A call that waits for its turn.
 *
 * @internal
 */
interface WaitFrame {
  readonly policy: OutboundRateLimitPolicy;
  readonly execution: Execution;
  readonly at: number;
  readonly turn: number;
  timer: Timer;
}

/** Sums of fractions of tokens miss whole numbers by less than this, and by less than this time is worth. */
const ROUNDING_TOKENS = 1e-6;
const ROUNDING_MS = 1e-3;

/**
 * Keeps calls to a dependency below its limit: a token bucket that holds `limit` tokens, starts full and is refilled
 * evenly. A call that has to wait is promised a turn, a moment that it keeps whatever happens to the calls around it;
 * there is no timer but that of the calls that wait.
 */
export class OutboundRateLimitPolicy extends StagePolicy {
  private readonly options: ResolvedOutboundRateLimitOptions;
  private readonly rounding: number;
  /** Moments are milliseconds since then, which leaves their fractions exact. */
  private readonly createdAt = now();
  private tokens: number;
  private countedAt = 0;
  private waiting = 0;
  /** The last turn that was promised to a call. */
  private lastTurn = 0;
  /** Turns of calls that were given up while they waited, in order. The next calls take them over. */
  private readonly freeTurns: number[] = [];
  /** Calls whose turn has come, in order; others than the one that is started only after the event loop was held. */
  private readonly late = new Set<WaitFrame>();
  private pace: Timer = undefined;

  constructor(options: OutboundRateLimitOptions) {
    const resolved = resolveOutboundRateLimitOptions(options);
    super(resolved.name);
    this.options = resolved;
    this.tokens = resolved.limit;
    this.rounding = Math.min(ROUNDING_TOKENS, (ROUNDING_MS * resolved.limit) / resolved.interval);
  }

  /** Calls that could start right now. */
  get available(): number {
    this.refill();

    return Math.max(0, Math.floor(this.unpromised() + this.rounding));
  }

  /** @internal */
  enter(execution: Execution, at: number): boolean {
    this.refill();
    if (this.unpromised() + this.rounding >= 1) {
      this.tokens -= 1;
      return true;
    }

    const turn = this.nextTurn();
    const waitMs = Math.max(1, Math.ceil(turn - this.countedAt - ROUNDING_MS));
    if (waitMs > this.options.maxWait) {
      this.turnAway(execution, at, waitMs);
      return false;
    }

    if (this.freeTurns.shift() === undefined) this.lastTurn = turn;
    this.waiting += 1;
    const frame: WaitFrame = { policy: this, execution, at, turn, timer: undefined };
    execution.setFrame(at, frame);
    execution.markWaiting(true);
    frame.timer = startTimer(waitMs, takeTurn, frame);
    return false;
  }

  /** @internal */
  leave(execution: Execution, at: number): boolean {
    const frame = execution.frame(at) as WaitFrame | undefined;
    if (frame === undefined) return true;

    stopTimer(frame.timer);
    this.freeTurns.splice(placeOf(frame.turn, this.freeTurns), 0, frame.turn);
    this.endWait(frame);
    return true;
  }

  /** @internal The turn of a call has come. */
  onTurn(frame: WaitFrame): void {
    this.late.add(frame);
    this.serve();
  }

  /**
   * Starts those whose turn has come, as far as there are tokens. There always are, unless the event loop was held and
   * many turns come at once: then the others follow in order, as tokens do.
   *
   * @internal
   */
  serve(): void {
    this.refill();
    stopTimer(this.pace);
    this.pace = undefined;
    for (const frame of this.late) {
      if (this.tokens + this.rounding < 1) {
        this.pace = startTimer(((1 - this.tokens) * this.options.interval) / this.options.limit, serveLate, this);
        return;
      }
      this.tokens -= 1;
      this.endWait(frame);
      frame.execution.proceed(frame.at + 1);
    }
  }

  private endWait(frame: WaitFrame): void {
    const { execution, at } = frame;
    execution.setFrame(at, undefined);
    execution.markWaiting(false);
    this.waiting -= 1;
    if (this.late.delete(frame) && this.late.size === 0) stopTimer(this.pace);
    // Turns are there for the sake of calls that wait; without any, the bucket alone decides again.
    if (this.waiting === 0) this.freeTurns.length = 0;
  }

  /** Tokens that no call waits for. */
  private unpromised(): number {
    return this.tokens - this.waiting;
  }

  private nextTurn(): number {
    const { limit, interval } = this.options;
    if (this.waiting === 0) return this.countedAt + ((1 - this.tokens) * interval) / limit;

    const next = this.freeTurns[0] ?? this.lastTurn + interval / limit;
    // Turns that have come while the event loop was held are still to be served.
    return this.late.size === 0 ? next : Math.max(next, this.countedAt + ((1 - this.unpromised()) * interval) / limit);
  }

  private refill(): void {
    const time = now() - this.createdAt;
    const { limit, interval } = this.options;
    const elapsed = Math.max(0, time - this.countedAt);
    this.tokens = Math.min(limit, this.tokens + (elapsed * limit) / interval);
    this.countedAt = time;
    while ((this.freeTurns[0] ?? Infinity) <= time) this.freeTurns.shift();
  }

  private turnAway(execution: Execution, at: number, retryAfterMs: number): void {
    const { step, source } = execution;
    if (this.isObserved('rate-limited')) this.emit({ type: 'rate-limited', policy: this.name, source, retryAfterMs });
    if (execution.step === step) execution.refuse(at, new OutboundRateLimitError(this.name, retryAfterMs));
  }
}

brand(OutboundRateLimitPolicy, Symbol.for('holdfast.policy.rate-limit'));

/** Where a turn belongs among others that are in order. */
function placeOf(turn: number, turns: readonly number[]): number {
  let [low, high] = [0, turns.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((turns[middle] as number) <= turn) low = middle + 1;
    else high = middle;
  }

  return low;
}

function takeTurn(frame: WaitFrame): void {
  if (frame.execution.frame(frame.at) === frame) frame.policy.onTurn(frame);
}

function serveLate(policy: OutboundRateLimitPolicy): void {
  policy.serve();
}

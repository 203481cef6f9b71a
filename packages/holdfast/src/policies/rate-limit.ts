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

/** A call that waits for its turn. */
interface WaitFrame {
  readonly execution: Execution;
  readonly at: number;
  timer: Timer;
}

/** Sums of fractions of tokens miss whole numbers by less than this. */
const ROUNDING = 1e-6;

/**
 * Keeps calls to a dependency below its limit: a token bucket that holds `limit` tokens, starts full and is refilled
 * evenly. A waiting call has reserved its token before it waits, so that turns come in order; there is no timer but
 * that of the calls that wait.
 */
export class OutboundRateLimitPolicy extends StagePolicy {
  private readonly options: ResolvedOutboundRateLimitOptions;
  /** Negative while calls wait: each has reserved one. */
  private tokens: number;
  private countedAt: number;

  constructor(options: OutboundRateLimitOptions) {
    const resolved = resolveOutboundRateLimitOptions(options);
    super(resolved.name);
    this.options = resolved;
    this.tokens = resolved.limit;
    this.countedAt = now();
  }

  /** Calls that could start right now. */
  get available(): number {
    this.refill();

    return Math.max(0, Math.floor(this.tokens + ROUNDING));
  }

  /** @internal */
  enter(execution: Execution, at: number): boolean {
    const waitMs = this.waitMs();
    if (waitMs > this.options.maxWait) {
      this.turnAway(execution, at, waitMs);
      return false;
    }

    this.tokens -= 1;
    if (waitMs === 0) return true;

    const frame: WaitFrame = { execution, at, timer: undefined };
    execution.frames[at] = frame;
    execution.markWaiting(true);
    frame.timer = startTimer(waitMs, takeTurn, frame);
    return false;
  }

  /** @internal */
  leave(execution: Execution, at: number): boolean {
    const frame = execution.frames[at] as WaitFrame | undefined;
    if (frame === undefined) return true;

    // Given up while it waited: later calls get its token, those that wait keep their turns.
    execution.frames[at] = undefined;
    stopTimer(frame.timer);
    execution.markWaiting(false);
    this.refill();
    this.tokens = Math.min(this.options.limit, this.tokens + 1);
    return true;
  }

  private waitMs(): number {
    this.refill();
    const missing = 1 - this.tokens - ROUNDING;
    if (missing <= 0) return 0;

    return Math.ceil((missing * this.options.interval) / this.options.limit);
  }

  private refill(): void {
    const time = now();
    const { limit, interval } = this.options;
    const elapsed = Math.max(0, time - this.countedAt);
    this.tokens = Math.min(limit, this.tokens + (elapsed * limit) / interval);
    this.countedAt = time;
  }

  private turnAway(execution: Execution, at: number, retryAfterMs: number): void {
    const { step, source } = execution;
    if (this.isObserved('rate-limited')) this.emit({ type: 'rate-limited', policy: this.name, source, retryAfterMs });
    if (execution.step === step) execution.refuse(at, new OutboundRateLimitError(this.name, retryAfterMs));
  }
}

function takeTurn(frame: WaitFrame): void {
  const { execution, at } = frame;
  execution.frames[at] = undefined;
  execution.markWaiting(false);
  execution.proceed(at + 1);
}

import { brand } from '../brand.js';
import { now } from '../clock.js';
import { parseDuration, type Duration } from '../duration.js';
import { OutboundRateLimitError } from '../errors.js';
import type { Execution } from '../execution.js';
import { OptionError, rejectUnknown, requireCount, requireName, requireObject } from '../options.js';
import { StagePolicy } from '../policy.js';
import { startTimer, stopTimer, type Timer } from '../timers.js';
import { WaitingLine, type Linked } from './waiting-line.js';

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
  const resolved = {
    name: requireName(name, 'name'),
    limit: requireCount(limit, 'limit', { min: 1 }),
    interval: parseDuration(interval, 'interval', { positive: true }),
    maxWait: parseDuration(maxWait, 'maxWait'),
  };
  if (resolved.interval / resolved.limit === 0) {
    throw new OptionError(
      'interval',
      `${resolved.interval}ms cannot be shared among ${resolved.limit} calls. Use '1s'.`,
    );
  }

  return resolved;
}

/** Sums of fractions of tokens miss whole numbers by less than this, and by less than this time is worth. */
const ROUNDING_TOKENS = 1e-6;
const ROUNDING_MS = 1e-3;

/**
 * Keeps calls to a dependency below its limit: a token bucket that holds `limit` tokens, starts full and is refilled
 * evenly. A call that has to wait is promised a turn, a moment that it keeps whatever happens to the calls around it.
 * From one turn to the next there is time for a token at least, so that a call holds up nobody if the first who waits
 * has its token all the same, or if it fits in between two others. There is one timer, that of the first.
 */
export class OutboundRateLimitPolicy extends StagePolicy {
  private readonly options: ResolvedOutboundRateLimitOptions;
  /** How long a token takes to come, in milliseconds. */
  private readonly perToken: number;
  private readonly rounding: number;
  private tokens: number;
  /**
   * Calls that have their token and have not started. Until they do, the bucket has no room for another token in its
   * place: code that holds the event loop keeps them from starting, and then they would all start at once.
   */
  private granted = 0;
  /** Moments are milliseconds since the start, which leaves their fractions exact, and do not follow a clock back. */
  private countedAt = 0;
  private clock = now();
  /** Calls that wait, in the order of their turns. */
  private readonly line = new WaitingLine<Waiter>();
  /** Those behind whom others have left, so that one more has room there; the first, who is found first, at the end. */
  private readonly gaps: Waiter[] = [];
  private timer: Timer = undefined;
  private timedFor: Waiter | undefined = undefined;

  constructor(options: OutboundRateLimitOptions) {
    const resolved = resolveOutboundRateLimitOptions(options);
    super(resolved.name);
    this.options = resolved;
    this.perToken = resolved.interval / resolved.limit;
    this.rounding = Math.min(ROUNDING_TOKENS, ROUNDING_MS / this.perToken);
    this.tokens = resolved.limit;
  }

  /** Calls that could start right now. */
  get available(): number {
    this.refill();
    let { tokens } = this;
    let { first } = this.line;
    for (; this.isDue(first); first = first.next) tokens -= 1;

    return Math.max(0, Math.floor(this.unneeded(first, tokens) + this.rounding));
  }

  /** @internal */
  enter(execution: Execution, at: number): boolean {
    this.serve();
    if (this.unneeded(this.line.first, this.tokens) + this.rounding >= 1) {
      this.tokens -= 1;
      return true;
    }

    const ahead = this.nextAhead();
    const turn = this.turnBehind(ahead);
    const waitMs = this.wholeMsUntil(turn);
    if (waitMs > this.options.maxWait) this.turnAway(execution, at, waitMs);
    else this.enqueue(new Waiter(this, { execution, at, turn }), ahead);
    return false;
  }

  /** @internal */
  leave(execution: Execution, at: number): boolean {
    const waiter = execution.frame(at) as Waiter | undefined;
    if (waiter === undefined) return true;

    execution.setFrame(at, undefined);
    if (waiter.isGranted) {
      this.granted -= 1;
      this.tokens += 1;
      // The first who waits may have been waiting for that token rather than for its turn.
      this.stopTimer();
    } else {
      this.endWait(waiter);
    }
    this.serve();
    return true;
  }

  /** @internal A call that was granted its token starts. */
  onStart(): void {
    this.refill();
    this.granted -= 1;
  }

  /** @internal The timer has fired. */
  serveAnew(): void {
    this.stopTimer();
    this.serve();
  }

  /**
   * Gives those their tokens whose turn has come, as far as there are any. There always are, unless the event loop was
   * held and many turns have come at once: then the others follow in order, as tokens do.
   */
  private serve(): void {
    this.refill();
    for (let { first } = this.line; this.isDue(first) && this.tokens + this.rounding >= 1; { first } = this.line) {
      this.tokens -= 1;
      this.granted += 1;
      this.endWait(first);
      first.grant();
    }
    this.arm();
  }

  private isDue(waiter: Waiter | undefined): waiter is Waiter {
    return waiter !== undefined && waiter.turn <= this.countedAt + ROUNDING_MS;
  }

  /** Sets the timer for the first who waits. It may fire a little early, and is set again then. */
  private arm(): void {
    const { first } = this.line;
    if (first === this.timedFor) return;

    this.stopTimer();
    if (first === undefined) return;

    const servedAt = Math.max(first.turn, this.nextToken());
    this.timer = startTimer(this.wholeMsUntil(servedAt), serveAnew, this);
    this.timedFor = first;
  }

  private stopTimer(): void {
    stopTimer(this.timer);
    this.timedFor = undefined;
  }

  private enqueue(waiter: Waiter, ahead: Waiter | undefined): void {
    const { execution, at } = waiter;
    execution.setFrame(at, waiter);
    this.line.insert(waiter, ahead);
    this.noteGap(ahead);
    this.noteGap(waiter);
    execution.markWaiting(true);
    this.arm();
  }

  private endWait(waiter: Waiter): void {
    const { previous } = waiter;
    this.line.remove(waiter);
    this.noteGap(waiter);
    this.noteGap(previous);
    waiter.execution.markWaiting(false);
  }

  /** Keeps in mind whether another call has room between this one and the next. */
  private noteGap(waiter: Waiter | undefined): void {
    if (waiter === undefined) return;

    const { turn, next } = waiter;
    const hasGap = next !== undefined && (next.turn - turn) / this.perToken + this.rounding >= 2;
    if (hasGap === waiter.hasGap) return;

    waiter.hasGap = hasGap;
    const place = indexOfFirst(this.gaps, (other) => other.turn <= turn);
    if (hasGap) this.gaps.splice(place, 0, waiter);
    else this.gaps.splice(place, 1);
  }

  /** Those of the tokens that could be spent now without holding up the first who waits, and so anybody who does. */
  private unneeded(first: Waiter | undefined, tokens: number): number {
    return Math.min(tokens, this.leftBy(first, tokens));
  }

  /** How many tokens the first who waits would leave at its turn, if no other call started before. */
  private leftBy(first: Waiter | undefined, tokens: number): number {
    return first === undefined ? Infinity : tokens + (first.turn - this.countedAt) / this.perToken - 1;
  }

  /** Behind whom the next call gets its turn: the first place where there is room, nobody for that before all others. */
  private nextAhead(): Waiter | undefined {
    if (this.leftBy(this.line.first, this.tokens) + this.rounding >= 1) return undefined;

    const earliest = this.caughtUpAt();
    const place = indexOfFirst(this.gaps, ({ next }) => (next!.turn - earliest) / this.perToken + this.rounding < 1);
    return this.gaps[place - 1] ?? this.line.last;
  }

  private turnBehind(ahead: Waiter | undefined): number {
    return ahead === undefined ? this.nextToken() : Math.max(ahead.turn + this.perToken, this.caughtUpAt());
  }

  private nextToken(): number {
    return this.countedAt + (1 - this.tokens) * this.perToken;
  }

  /** When there is a token for another call than those who wait, if their turns are late; now, if not. */
  private caughtUpAt(): number {
    const { first, length } = this.line;

    return this.isDue(first) ? this.nextToken() + length * this.perToken : this.countedAt;
  }

  private wholeMsUntil(moment: number): number {
    return Math.max(1, Math.ceil(moment - this.countedAt - ROUNDING_MS));
  }

  private refill(): void {
    const time = now();
    const elapsed = Math.max(0, time - this.clock);
    this.clock = time;
    this.countedAt += elapsed;
    this.tokens = Math.min(this.options.limit - this.granted, this.tokens + elapsed / this.perToken);
  }

  private turnAway(execution: Execution, at: number, retryAfterMs: number): void {
    const { step, source } = execution;
    if (this.isObserved('rate-limited')) this.emit({ type: 'rate-limited', policy: this.name, source, retryAfterMs });
    if (execution.step === step) execution.refuse(at, new OutboundRateLimitError(this.name, retryAfterMs));
  }
}

brand(OutboundRateLimitPolicy, Symbol.for('holdfast.policy.rate-limit'));

/**
 * A call that waits for its turn.
 *
 * @internal
 */
class Waiter implements Linked<Waiter> {
  readonly limit: OutboundRateLimitPolicy;
  readonly execution: Execution;
  readonly at: number;
  readonly turn: number;
  previous: Waiter | undefined = undefined;
  next: Waiter | undefined = undefined;
  hasGap = false;
  isGranted = false;
  private wake: (waiter: Waiter) => void = goOn;

  constructor(limit: OutboundRateLimitPolicy, { execution, at, turn }: Pick<Waiter, 'execution' | 'at' | 'turn'>) {
    this.limit = limit;
    this.execution = execution;
    this.at = at;
    this.turn = turn;
    // The call goes on in a continuation of its own, in its caller's async context and not in that of whoever started
    // the timer.
    void new Promise<Waiter>((resolve) => (this.wake = resolve)).then(goOn);
  }

  /** The token is this call's from here on, and goes back if it leaves before it has started. */
  grant(): void {
    this.isGranted = true;
    this.wake(this);
  }
}

/** A call that was granted its token goes on, unless it has left meanwhile. */
function goOn(waiter: Waiter): void {
  const { limit, execution, at } = waiter;
  if (execution.frame(at) !== waiter) return;

  // One that has left without telling us is given up when it goes on, and still has its token to give back.
  if (execution.leftBy() === undefined) {
    execution.setFrame(at, undefined);
    limit.onStart();
  }
  execution.proceed(at + 1);
}

function serveAnew(policy: OutboundRateLimitPolicy): void {
  policy.serveAnew();
}

/** Where the first of those stands that `holds` is true for, as it is for all behind. */
function indexOfFirst<T>(items: readonly T[], holds: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(items[middle] as T)) high = middle;
    else low = middle + 1;
  }

  return low;
}

import { now } from './clock.js';
import { parseDuration, type Duration } from './duration.js';
import { DeadlineExceededError, discount } from './errors.js';
import { OptionError } from './options.js';
import { expireNow, startTimer, stopTimer, type LimitTarget, type Timer } from './timers.js';
import { host } from '#host';

/** What a deadline is made of besides its budget. */
export interface DeadlineOptions {
  /** Named in the error of {@link Deadline.signal}. Default `'deadline'`. */
  readonly policy?: string | undefined;
  /** Nothing is started with less left, in milliseconds. Default 1. */
  readonly minRemainingMs?: number | undefined;
  /** Whether a caller on the other side of the wire set it, rather than this process. Default `false`. */
  readonly inherited?: boolean | undefined;
}

const DEFAULT_MIN_REMAINING_MS = 1;

/**
 * A moment by which something has to be answered. Holds no timer: whoever bounds work by it keeps one of its own, and
 * `signal` keeps one from when it is first read.
 */
export class Deadline {
  /** On the engine's clock, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** The amount of time that it was made with, in milliseconds. */
  readonly budgetMs: number;
  readonly expiresAt: number;
  readonly policy: string;
  readonly minRemainingMs: number;
  readonly inherited: boolean;
  /** @internal Who ends a call at this deadline, while there is somebody. */
  keeper: LimitTarget | undefined = undefined;
  #controller: AbortController | undefined;
  #timer: Timer = undefined;

  /**
   * The deadline that ends a budget which begins now.
   *
   * @throws TypeError when `budget` is no duration greater than 0.
   */
  static after(budget: Duration, options?: DeadlineOptions): Deadline {
    return new Deadline(now(), parseDuration(budget, 'budget', { positive: true }), options);
  }

  /** @internal The same from parts that are checked. */
  static from(startedAt: number, budgetMs: number, options?: DeadlineOptions): Deadline {
    return new Deadline(startedAt, budgetMs, options);
  }

  private constructor(startedAt: number, budgetMs: number, options: DeadlineOptions = {}) {
    const { policy = 'deadline', minRemainingMs = DEFAULT_MIN_REMAINING_MS, inherited = false } = options;
    this.startedAt = startedAt;
    this.budgetMs = budgetMs;
    this.expiresAt = startedAt + budgetMs;
    this.policy = policy;
    this.minRemainingMs = minRemainingMs;
    this.inherited = inherited;
  }

  /** Milliseconds left, never below 0. */
  remaining(): number {
    const left = this.expiresAt - now();

    return left > 0 ? left : 0;
  }

  get expired(): boolean {
    return this.expiresAt <= now();
  }

  /** Whether there is too little left to start anything. */
  get exhausted(): boolean {
    return !this.leavesRoomAfter(0);
  }

  /** @internal Whether something can still be started after a wait. Nothing is started on nothing. */
  leavesRoomAfter(waitMs: number): boolean {
    const leftMs = this.expiresAt - now() - waitMs;

    return leftMs > 0 && leftMs >= this.minRemainingMs;
  }

  /**
   * How much of `desired` fits, when `reserve` has to stay for what comes after: milliseconds, never below 0.
   *
   * @throws TypeError when one of them is no duration.
   */
  allow(desired: Duration, reserve: Duration = 0): number {
    const left = this.remaining() - parseDuration(reserve, 'reserve');

    return Math.max(0, Math.min(parseDuration(desired, 'desired'), left));
  }

  /**
   * A deadline that comes `amount` before this one.
   *
   * @throws TypeError when the budget is not larger than that.
   */
  reserve(amount: Duration): Deadline {
    const reservedMs = parseDuration(amount, 'reserve');
    if (reservedMs >= this.budgetMs) {
      throw new OptionError(
        'reserve',
        `${reservedMs} ms leave nothing of a budget of ${this.budgetMs} ms. Reserve less, or raise the budget.`,
      );
    }

    return new Deadline(this.startedAt, this.budgetMs - reservedMs, this);
  }

  /** Aborts at the deadline, with a `DeadlineExceededError`. Its timer runs from the first reading; see {@link release}. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.expired) this.#abort();
      else this.#timer = startTimer(this.remaining(), () => this.#abort(), undefined);
    }

    return this.#controller.signal;
  }

  /** @internal What refuses work that has no time left. It never ran, so this says nothing about it. */
  nothingLeft(): DeadlineExceededError {
    const error = new DeadlineExceededError(this.budgetMs, this.policy);
    discount(error);

    return error;
  }

  /** Stops the timer of `signal`: what it was read for is done. One that is over aborts all the same. */
  release(): void {
    if (this.#timer === undefined || this.expired) return;

    stopTimer(this.#timer);
    this.#timer = undefined;
  }

  #abort(): void {
    this.#controller?.abort(new DeadlineExceededError(this.budgetMs, this.policy));
  }
}

/**
 * Milliseconds of an option `minRemaining`, with which something can start in the budget.
 *
 * @throws TypeError when it is no duration, or nothing could.
 */
export function readMinRemaining(minRemaining: Duration, budgetMs: number): number {
  const minRemainingMs = parseDuration(minRemaining, 'minRemaining');
  if (minRemainingMs < budgetMs) return minRemainingMs;

  throw new OptionError(
    'minRemaining',
    `with ${minRemainingMs} ms nothing would ever start in a budget of ${budgetMs} ms. Lower it, or raise the budget.`,
  );
}

/** The one that comes first; an absent one never comes. */
export function earliest(one: Deadline | undefined, other: Deadline): Deadline {
  return one !== undefined && one.expiresAt <= other.expiresAt ? one : other;
}

/**
 * At a deadline whoever set it ends the call, and what is inside with it, whichever timer comes first: what is inside
 * would else fail on its own, as if that were the dependency's doing. `end` is for what that call has left behind.
 */
export function meetDeadline({ keeper }: Deadline, inside: { readonly lifted: boolean }, end: () => void): void {
  if (keeper === undefined || keeper.lifted) return end();

  expireNow(keeper);
  // It may wait for pending input now, which may be what its call is waiting for.
  if (!inside.lifted) host.afterPendingInput(end);
}

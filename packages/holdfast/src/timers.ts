import { isFaked, now } from './clock.js';
import { host } from '#host';

/**
 * Timers of any length. `setTimeout` and `clearTimeout` are looked up when they are used, so that fake timers
 * installed later move them.
 */

/** Delays above this fire at once in every runtime: the platform keeps them in a signed 32-bit integer. */
const LONGEST_DELAY = 2_147_483_647;

/** How late a timer may be before the event loop, rather than the work, is taken to have been slow, in milliseconds. */
const STALL = 50;

/** @internal */
export type Timer = unknown;

/** Calls `fire(target)` after `delayMs`, rounded up to whole milliseconds. */
export function startTimer<T>(delayMs: number, fire: (target: T) => void, target: T): Timer {
  const wholeMs = Math.ceil(delayMs);
  if (wholeMs <= LONGEST_DELAY) return globalThis.setTimeout(fire, wholeMs, target);

  return new LongTimer(wholeMs, fire as (target: unknown) => void, target);
}

/**
 * Stops a timer; one that has fired or was stopped is left alone. A clock that was mocked since the start may not know
 * the timer and let it fire all the same, so that whoever is called looks whether it is still wanted.
 */
export function stopTimer(timer: Timer): void {
  if (timer instanceof LongTimer) timer.stop();
  else globalThis.clearTimeout(timer as number | undefined);
}

/**
 * What a limit's timer tells the one who set it.
 *
 * @internal
 */
export interface LimitTarget {
  /** When the timer is due, on the engine's clock. */
  readonly dueAt: number;
  /** @param stalled The event loop was held up, so that this says nothing about the work. */
  expire(stalled: boolean): void;
  /** Whether the limit was lifted while a late timer waited for pending input. */
  readonly lifted: boolean;
}

/**
 * A timer that ends somebody's patience. When it fires late because the event loop was held, the answer may be
 * waiting in a socket: input that is already there comes first, then the limit expires, marked as stalled.
 */
export function startLimit(delayMs: number, target: LimitTarget): Timer {
  return startTimer(delayMs, fireLimit, target);
}

/**
 * Lets a limit that is due expire before its own timer comes to it, or begin to wait for pending input. Of timers for
 * about one moment any may be the first: a runtime walks through them by their delays.
 */
export function expireNow(target: LimitTarget): void {
  fireLimit(target);
}

/** The latest limit that waits for pending input. */
let heldBack: LimitTarget | undefined;

function fireLimit(target: LimitTarget): void {
  const isStalled = !isFaked() && now() - target.dueAt > STALL;
  if (!isStalled && !isBehind(target)) {
    target.expire(false);
    return;
  }

  heldBack = target;
  host.afterPendingInput(() => {
    if (heldBack === target) heldBack = undefined;
    if (!target.lifted) target.expire(isStalled);
  });
}

/** What is due first expires first, also where only that one is late enough to wait: it may answer for the other. */
function isBehind(target: LimitTarget): boolean {
  return !isFaked() && heldBack !== undefined && !heldBack.lifted && heldBack.dueAt <= target.dueAt;
}

/** A delay that the platform cannot hold, walked in steps that it can. */
class LongTimer {
  #step: Timer;
  #leftMs: number;
  readonly #dueAt: number;
  readonly #fire: (target: unknown) => void;
  readonly #target: unknown;

  constructor(delayMs: number, fire: (target: unknown) => void, target: unknown) {
    this.#leftMs = delayMs;
    this.#dueAt = now() + delayMs;
    this.#fire = fire;
    this.#target = target;
    this.#walk();
  }

  stop(): void {
    globalThis.clearTimeout(this.#step as number | undefined);
  }

  #walk(): void {
    if (this.#leftMs <= LONGEST_DELAY) {
      this.#step = globalThis.setTimeout(this.#fire, this.#leftMs, this.#target);
      return;
    }

    this.#step = globalThis.setTimeout(() => this.#goOn(), LONGEST_DELAY);
  }

  /** A step that came late makes the rest shorter, so that the whole is not late by the sum of them. */
  #goOn(): void {
    const leftMs = Math.min(this.#leftMs - LONGEST_DELAY, Math.ceil(this.#dueAt - now()));
    this.#leftMs = Math.max(0, leftMs);
    this.#walk();
  }
}

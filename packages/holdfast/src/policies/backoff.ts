import { parseDuration, type Duration } from '../duration.js';
import { refusePromise, rejectUnknown, requireFactor, requireObject, requireOneOf, withPath } from '../options.js';

export interface BackoffOptions {
  /** The wait after the first failed attempt. Default `'200ms'`; 0 is legal. */
  readonly delay?: Duration | undefined;
  /** What each wait is multiplied by for the next one. Finite, at least 1; default 2. */
  readonly factor?: number | undefined;
  /** No wait is longer. Default `'30s'`. */
  readonly maxDelay?: Duration | undefined;
  /**
   * How much of a wait is left to chance: all of it, the second half, or nothing. Default `'full'`, and `'none'`
   * when `factor` is 1. Full jitter spreads clients best: M. Brooker, "Exponential Backoff And Jitter", 2015.
   */
  readonly jitter?: 'full' | 'equal' | 'none' | undefined;
}

/** The wait after a failed attempt, from 1; for a retried result `error` is `undefined`. Negative means none. */
export type BackoffFunction = (failedAttempt: number, error: unknown) => Duration;

/** A rule for waits. Decides with values; somebody else waits. */
export interface Backoff {
  /** Milliseconds to wait after this failed attempt. */
  delayMs(failedAttempt: number, error: unknown): number;
  /** The longest wait that a hint of the dependency may ask for, in milliseconds. */
  readonly longestHintMs: number;
}

export interface ResolvedBackoff {
  readonly delayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  readonly jitter: 'full' | 'equal' | 'none';
}

const DEFAULT_MAX_DELAY_MS = 30_000;

/** @throws TypeError naming the option. */
export function createBackoff(options: BackoffOptions | BackoffFunction): Backoff {
  if (typeof options === 'function') return byFunction(options);

  const backoff = resolveBackoff(options);
  return {
    delayMs: (failedAttempt) => exponentialDelay(backoff, failedAttempt, Math.random),
    longestHintMs: backoff.maxDelayMs,
  };
}

/** Validates options and fills in the defaults. */
export function resolveBackoff(options: BackoffOptions): ResolvedBackoff {
  requireObject(options, '', "Use { delay: '200ms' } or a function of the failed attempt.");
  rejectUnknown(options, ['delay', 'factor', 'maxDelay', 'jitter']);
  const { delay = 200, factor = 2, maxDelay = DEFAULT_MAX_DELAY_MS, jitter = factor === 1 ? 'none' : 'full' } = options;

  return {
    delayMs: parseDuration(delay, 'delay'),
    factor: requireFactor(factor, 'factor'),
    maxDelayMs: parseDuration(maxDelay, 'maxDelay'),
    jitter: requireOneOf(jitter, 'jitter', ['full', 'equal', 'none']),
  };
}

/**
 * The wait after a failed attempt: exponential, capped, then jittered, so that it is finite, never negative and never
 * above the cap, whatever the number of the attempt.
 */
export function exponentialDelay(backoff: ResolvedBackoff, failedAttempt: number, random: () => number): number {
  const { delayMs, factor, maxDelayMs, jitter } = backoff;
  // 0 times an infinite power is NaN, and so is 1 to the power of infinity.
  const grown = delayMs === 0 || factor === 1 ? delayMs : delayMs * factor ** (failedAttempt - 1);
  const wait = Math.min(maxDelayMs, grown);
  if (jitter === 'none') return wait;
  if (jitter === 'equal') return Math.floor(wait / 2 + (random() * wait) / 2);

  return Math.floor(random() * wait);
}

function byFunction(delay: BackoffFunction): Backoff {
  return {
    delayMs(failedAttempt, error) {
      const wait: unknown = delay(failedAttempt, error);
      refusePromise(wait, 'backoff', 'a duration');
      if (typeof wait === 'number' && wait < 0 && wait !== -Infinity) return 0;

      return withPath('backoff', () => parseDuration(wait, ''));
    },
    longestHintMs: DEFAULT_MAX_DELAY_MS,
  };
}

import { brand } from '../brand.js';
import { isClientError, isClientGone, isRejection } from '../errors.js';
import type { Execution } from '../execution.js';
import {
  decision,
  rejectUnknown,
  requireBoolean,
  requireCount,
  requireFunction,
  requireName,
  requireObject,
  withPath,
} from '../options.js';
import { StagePolicy } from '../policy.js';
import { startTimer, stopTimer, type Timer } from '../timers.js';
import { createBackoff, type Backoff, type BackoffFunction, type BackoffOptions } from './backoff.js';
import { retryAfterHint } from './retry-after.js';

export interface RetryOptions {
  /** Shown in events. Default `'retry'`. */
  readonly name?: string | undefined;
  /** How often the work runs at most, the first time included: whole, at least 1, or `Infinity`. Default 3. */
  readonly attempts?: number | undefined;
  /** The wait between attempts. Default: exponential from 200 ms, doubling, at most 30 s, with full jitter. */
  readonly backoff?: BackoffOptions | BackoffFunction | undefined;
  /** Which errors are worth another attempt; `attempt` is the one that failed. Default: all but client errors. */
  readonly retryIf?: ((error: unknown, attempt: number) => boolean) | undefined;
  /** Which results are not good enough. After the last attempt its result stands. Default: none. */
  readonly retryOnResult?: ((result: unknown, attempt: number) => boolean) | undefined;
  /** Whether a `Retry-After` of the dependency lengthens the wait. Default `true`. */
  readonly retryAfter?: boolean | undefined;
}

const KNOWN = ['name', 'attempts', 'backoff', 'retryIf', 'retryOnResult', 'retryAfter'] as const;

export interface ResolvedRetryOptions {
  readonly name: string;
  readonly attempts: number;
  readonly backoff: Backoff;
  readonly retryIf: (error: unknown, attempt: number) => boolean;
  readonly retryOnResult: ((result: unknown, attempt: number) => boolean) | undefined;
  readonly retryAfter: boolean;
}

/**
 * Validates options and fills in the defaults. A number is the number of attempts, `false` means one.
 *
 * @throws TypeError naming the option.
 */
export function resolveRetryOptions(options: RetryOptions | number | false): ResolvedRetryOptions {
  const given: RetryOptions = typeof options === 'object' ? options : { attempts: options === false ? 1 : options };
  requireObject(given, '', 'Use { attempts: 3 }, a number of attempts, or false.');
  rejectUnknown(given, KNOWN);
  const {
    name = 'retry',
    attempts = 3,
    backoff = {},
    retryIf = (error) => !isClientError(error),
    retryOnResult,
    retryAfter = true,
  } = given;

  return {
    name: requireName(name, 'name'),
    attempts: requireCount(attempts, 'attempts', { min: 1, infinite: true }),
    backoff: withPath('backoff', () => createBackoff(backoff)),
    retryIf: requireFunction(retryIf, 'retryIf'),
    retryOnResult: retryOnResult === undefined ? undefined : requireFunction(retryOnResult, 'retryOnResult'),
    retryAfter: requireBoolean(retryAfter, 'retryAfter'),
  };
}

/**
 * A call between two attempts, or in one after the first.
 *
 * @internal
 */
interface RetryFrame {
  readonly execution: Execution;
  readonly at: number;
  /** How many attempts have failed. */
  failed: number;
  /** The wait that runs. */
  wait: Timer;
}

/**
 * Runs the work again when it fails and another attempt may help. Never repeated: the last attempt, a call that its
 * caller gave up, also when that comes as the work's own error, an outcome that has left already, and refusals of other
 * policies, since trying again at once is what they refuse. When the dependency asks for more patience than the backoff has, its error stands.
 */
export class RetryPolicy extends StagePolicy {
  readonly attempts: number;
  private readonly options: ResolvedRetryOptions;

  constructor(options: RetryOptions | number | false = {}) {
    const resolved = resolveRetryOptions(options);
    super(resolved.name);
    this.options = resolved;
    this.attempts = resolved.attempts;
  }

  /** @internal */
  enter(execution: Execution): boolean {
    execution.attemptNumber = 1;

    return true;
  }

  /** @internal */
  leave(execution: Execution, at: number): boolean {
    const frame = execution.frame(at) as RetryFrame | undefined;
    if (frame !== undefined) execution.setFrame(at, undefined);
    if (frame?.wait !== undefined) stopTimer(frame.wait);
    if (execution.ok && this.options.retryOnResult === undefined) return true;

    const failed = (frame?.failed ?? 0) + 1;
    if (execution.cutting || execution.flawed || failed >= this.attempts || execution.isCommitted()) return true;
    if ((!execution.ok && isFinal(execution.value)) || execution.leftBy() !== undefined) return true;

    const { step } = execution;
    const another = this.wantsAnother(execution, failed);
    const delayMs = another && execution.step === step ? this.delayAfter(execution, failed) : undefined;
    if (delayMs === undefined || execution.step !== step) return true;

    this.waitForNext({ execution, at, failed, wait: undefined }, delayMs);
    return false;
  }

  private wantsAnother(execution: Execution, failed: number): boolean {
    const { retryIf, retryOnResult } = this.options;
    try {
      if (execution.ok) return decision(retryOnResult?.(execution.value, failed), 'retryOnResult');

      return decision(retryIf(execution.value, failed), 'retryIf');
    } catch (error) {
      execution.replaceByFlaw(error);
      return false;
    }
  }

  private waitForNext(frame: RetryFrame, delayMs: number): void {
    const { execution, at, failed } = frame;
    const { step, source } = execution;
    if (this.isObserved('retry')) {
      const error = execution.ok ? undefined : execution.value;
      this.emit({ type: 'retry', policy: this.name, source, attempt: failed, delayMs, error });
      if (execution.step !== step) return;
    }

    execution.setFrame(at, frame);
    execution.stayAt(at);
    frame.wait = startTimer(delayMs, beginNext, frame);
  }

  /** `undefined` when the outcome stands after all. */
  private delayAfter(execution: Execution, failed: number): number | undefined {
    const error = execution.ok ? undefined : execution.value;
    const { backoff, retryAfter } = this.options;
    try {
      const delayMs = backoff.delayMs(failed, error);
      const hintMs = (retryAfter && !execution.ok ? retryAfterHint(error) : undefined) ?? 0;
      if (hintMs > backoff.longestHintMs) return undefined;

      const waitMs = Math.max(delayMs, hintMs);
      return fits(waitMs, execution) ? waitMs : undefined;
    } catch (flaw) {
      execution.replaceByFlaw(flaw);
      return undefined;
    }
  }
}

brand(RetryPolicy, Symbol.for('holdfast.policy.retry'));

function beginNext(frame: RetryFrame): void {
  const { execution, at, failed } = frame;
  if (execution.frame(at) !== frame) return;

  frame.wait = undefined;
  execution.attemptNumber = failed + 1;
  execution.proceed(at + 1);
}

/** Whether no other attempt would be of use, whatever `retryIf` says. */
function isFinal(error: unknown): boolean {
  return isRejection(error) || isClientGone(error);
}

/** Whether an attempt could still begin after such a wait. */
function fits(waitMs: number, { deadline }: Execution): boolean {
  return deadline === undefined || deadline.leavesRoomAfter(waitMs);
}

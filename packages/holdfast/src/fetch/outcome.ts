import { discount, name } from '../errors.js';
import type { DegradedReason } from '../sections/degraded.js';

/** Why there is no value: those of the reasons for which a section is degraded that a single call can have. */
export type TimeoutReason = Extract<
  DegradedReason,
  'upstream_timeout' | 'budget_exhausted' | 'client_abort' | 'upstream_error'
>;

export interface FetchSuccess<T> {
  readonly ok: true;
  /** The body of the answer, parsed; nobody has checked that it is a `T`. */
  readonly value: T;
  /** How long it took, in whole milliseconds. */
  readonly ms: number;
}

/** Codes and numbers only, so that it can be logged or sent as it is: `cause` and `headers` are not enumerable. */
export interface FetchFailure {
  readonly ok: false;
  readonly reason: TimeoutReason;
  /** How long was waited, in whole milliseconds; 0 when no call was made. */
  readonly ms: number;
  /** The status of the answer, when one has come: also of a good one whose body could not be used. */
  readonly status?: number;
  /** What was thrown, or what the call was aborted with: for the log of this process. */
  readonly cause?: unknown;
  /** Those of an answer that was not `ok`: a retry finds `Retry-After` there. */
  readonly headers?: Headers;
}

/** What has become of a call: `ok` tells which of the two. */
export type FetchOutcome<T> = FetchSuccess<T> | FetchFailure;

export interface FailureDetails {
  readonly status?: number | undefined;
  readonly cause?: unknown;
  readonly headers?: Headers | undefined;
}

export function failure(reason: TimeoutReason, ms: number, details: FailureDetails = {}): FetchFailure {
  const { status, cause, headers } = details;
  const outcome: FetchFailure = status === undefined ? { ok: false, reason, ms } : { ok: false, reason, ms, status };
  if (cause !== undefined) Object.defineProperty(outcome, 'cause', { value: cause });
  if (headers !== undefined) Object.defineProperty(outcome, 'headers', { value: headers });

  return outcome;
}

/**
 * The value of a call that must have one: what sections and policies, which know a failure by what is thrown, make of
 * an outcome.
 *
 * @throws FetchFailedError when there is none.
 */
export function requireValue<T>(outcome: FetchOutcome<T>): T {
  if (outcome.ok) return outcome.value;

  throw new FetchFailedError(outcome);
}

/**
 * A call without a value. Its `status` makes a 404 a client error, which is neither retried nor counted, and its
 * `headers` tell a retry how long to wait. What was cut by its caller, or never started, is not counted either.
 */
export class FetchFailedError extends Error {
  readonly reason: TimeoutReason;
  /** How long was waited, in whole milliseconds. */
  readonly ms: number;
  /** The status of the answer; `undefined` when none has come. */
  readonly status: number | undefined;
  /** Those of an answer that was not `ok`; not enumerable. */
  declare readonly headers: Headers | undefined;

  constructor({ reason, ms, status, cause, headers }: FetchFailure) {
    const answered = status === undefined ? '' : `, status ${status}`;
    super(`fetchJson() gave no value after ${ms}ms: ${reason}${answered}`, { cause });
    this.reason = reason;
    this.ms = ms;
    this.status = status;
    Object.defineProperty(this, 'headers', { value: headers });
    if (reason === 'budget_exhausted' || reason === 'client_abort') discount(this);
  }
}

name(FetchFailedError, 'FetchFailedError', Symbol.for('holdfast.error.fetch-failed'));

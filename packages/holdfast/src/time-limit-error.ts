import { DeadlineExceededError, ResilienceTimeoutError } from './errors.js';

/** The errors that say that time ran out. */
export type LimitError = ResilienceTimeoutError | DeadlineExceededError;

/** Where the limit stands on its platform form: a `cause` could be anybody's, and copies of the engine share this. */
const BEHIND = Symbol.for('holdfast.time-limit');

/**
 * The form in which a limit reaches code that knows nothing of ours: HTTP clients look at `error.name` and tell a
 * `TimeoutError`, as `AbortSignal.timeout()` has it, from an `AbortError`. Our own error is its `cause`.
 */
export function timeLimitError(limit: LimitError): DOMException {
  const error = new DOMException(limit.message, 'TimeoutError');
  // Not every runtime takes a cause as an option here.
  Object.defineProperty(error, 'cause', { value: limit, configurable: true, writable: true });
  Object.defineProperty(error, BEHIND, { value: limit });

  return error;
}

/** The limit that an error tells of, in either form; `undefined` when it tells of none. */
export function limitBehind(error: unknown): LimitError | undefined {
  if (isLimit(error)) return error;
  if (typeof error !== 'object' || error === null) return undefined;
  try {
    const limit = (error as Record<symbol, unknown>)[BEHIND];
    return isLimit(limit) ? limit : undefined;
  } catch {
    // Anything may be thrown, also what does not let itself be looked at.
    return undefined;
  }
}

function isLimit(error: unknown): error is LimitError {
  return error instanceof ResilienceTimeoutError || error instanceof DeadlineExceededError;
}

/** Whether a signal that aborted with this did so because time was over, ours or that of `AbortSignal.timeout()`. */
export function isTimeout(reason: unknown): boolean {
  return limitBehind(reason) !== undefined || nameOf(reason) === 'TimeoutError';
}

/** The name of an error. */
export function nameOf(error: unknown): unknown {
  return fieldOf(error, 'name');
}

/** The cause of an error. */
export function causeOf(error: unknown): unknown {
  return fieldOf(error, 'cause');
}

/** Anything may be thrown, also what does not let itself be looked at. */
function fieldOf(error: unknown, field: 'name' | 'cause'): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  try {
    return (error as Error)[field];
  } catch {
    return undefined;
  }
}

import { DeadlineExceededError, ResilienceTimeoutError, type ResilienceError } from '../errors.js';

/**
 * Why signals abort, told apart: a limit is over, or whoever asked has gone. The platform says the first with an
 * exception named `TimeoutError` and the second with one named `AbortError`, and that is what code around `fetch`
 * looks at.
 */

/** A limit's error as the reason of a signal that is given to foreign code; the error is its `cause`. */
export function asTimeoutError(error: ResilienceError): DOMException {
  const reason = new DOMException(error.message, 'TimeoutError');
  // The constructor's own option for it is not known everywhere.
  Object.defineProperty(reason, 'cause', { value: error, configurable: true, writable: true });

  return reason;
}

/** Whether one of our limits made it. */
export function isLimitError(reason: unknown): reason is ResilienceError {
  return reason instanceof ResilienceTimeoutError || reason instanceof DeadlineExceededError;
}

/** Whether a signal that aborted with this did so because time was over, ours or that of `AbortSignal.timeout()`. */
export function isTimeout(reason: unknown): boolean {
  return isLimitError(reason) || nameOf(reason) === 'TimeoutError';
}

/** The name of an error. Anything may be thrown, also what does not let itself be looked at. */
export function nameOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  try {
    return (error as Error).name;
  } catch {
    return undefined;
  }
}

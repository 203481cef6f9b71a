import type { Work } from '../adapter.js';

/** Starts work; what it throws at once is a rejection like any other. */
export function started<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve) => resolve(work({ signal })));
}

/** Settles as `promise` does, unless `signal` aborts first: then with its reason, and `onAbort` is called. */
export function untilAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  onAbort: () => void = () => {},
): Promise<T> {
  if (signal === undefined) return promise;

  return new Promise((resolve, reject) => {
    const abort = (): void => {
      onAbort();
      reject(signal.reason as Error);
    };
    const settled = (): void => signal.removeEventListener('abort', abort);
    if (signal.aborted) return abort();

    signal.addEventListener('abort', abort, { once: true });
    promise.finally(settled).then(resolve, reject);
  });
}

/**
 * A timeout as one would write it by hand for work that takes a signal: the guarantees of `withTimeout()`, and at the
 * limit the signal aborts with the very error that the call is rejected with.
 */
export function withTimeoutSignal<T>(work: (signal: AbortSignal) => PromiseLike<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      const error = new Error(`Timed out after ${timeoutMs}ms`);
      controller.abort(error);
      reject(error);
    }, timeoutMs);
    try {
      work(controller.signal).then(
        (value) => {
          clearTimeout(timer);
          resolve(value);
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(error);
        },
      );
    } catch (error) {
      clearTimeout(timer);
      reject(error);
    }
  });
}

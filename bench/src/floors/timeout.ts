/**
 * A timeout as one would write it by hand, when nobody needs a signal. It settles at the limit, clears its timer on
 * every outcome (a synchronous throw included), and what the work does after the limit is dropped and handled.
 */
export function withTimeout<T>(work: () => PromiseLike<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Timed out after ${timeoutMs}ms`)), timeoutMs);
    try {
      work().then(
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

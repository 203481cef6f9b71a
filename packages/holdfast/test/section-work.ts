/** Work of sections, on whatever clock the test has. */

/** Never answers, and ignores its signal. */
export const hang = <T = never>(): Promise<T> => new Promise(() => {});

export const answerAfter = <T>(milliseconds: number, value: T): Promise<T> =>
  new Promise((resolve) => setTimeout(() => resolve(value), milliseconds));

export const failAfter = (milliseconds: number, error: unknown): Promise<never> =>
  new Promise((_, reject) => setTimeout(() => reject(error), milliseconds));

/** Ends with the reason of its signal, as `fetch()` does. */
export const honour = ({ signal }: { readonly signal: AbortSignal }): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

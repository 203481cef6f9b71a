import { withTimeoutSignal } from './timeout-signal.js';

type Works<T> = Readonly<Record<string, (signal: AbortSignal) => PromiseLike<T>>>;

export interface Settled<T> {
  /** By the keys of the works; `undefined` stands in for what is missing. */
  readonly data: Readonly<Record<string, T | undefined>>;
  readonly missing: readonly string[];
}

/**
 * An answer from several calls as one would write it by hand: all are started at once, each has a signal and a limit of
 * its own (the guarantees of `withTimeoutSignal()`), and what failed or did not answer is listed in the order of the keys.
 */
export async function settleAll<T>(works: Works<T>, timeoutMs: number): Promise<Settled<T>> {
  const keys = Object.keys(works);
  const outcomes = await Promise.allSettled(
    Object.values(works).map(async (work) => withTimeoutSignal(work, timeoutMs)),
  );
  const data: Record<string, T | undefined> = {};
  const missing: string[] = [];
  outcomes.forEach((outcome, at) => {
    const key = keys[at] as string;
    data[key] = outcome.status === 'fulfilled' ? outcome.value : undefined;
    if (outcome.status === 'rejected') missing.push(key);
  });

  return { data, missing };
}

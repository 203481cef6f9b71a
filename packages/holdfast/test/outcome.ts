/** What has become of a promise so far, readable at any moment. */
export class Outcome {
  state: 'pending' | 'fulfilled' | 'rejected' = 'pending';
  /** The value or the error; `undefined` while pending. */
  value: unknown = undefined;
}

export function outcomeOf(promise: PromiseLike<unknown>): Outcome {
  const outcome = new Outcome();
  const settle = (state: 'fulfilled' | 'rejected') => (value: unknown) => void Object.assign(outcome, { state, value });
  promise.then(settle('fulfilled'), settle('rejected'));

  return outcome;
}

/** The error of a promise that must reject. */
export async function errorOf(promise: PromiseLike<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`Expected a rejection, got the value ${String(value)}.`);
}

/** Lets continuations of promises that have settled run, without a macrotask and without moving any clock. */
export async function microtasks(): Promise<void> {
  for (let hop = 0; hop < 12; hop++) await undefined;
}

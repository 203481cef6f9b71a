import { setMaxListeners } from 'node:events';

/** A call while it runs: what became of it can be looked at without waiting for it. */
export interface Observed<T> {
  readonly state: 'pending' | 'fulfilled' | 'rejected';
  readonly value: T | undefined;
  readonly error: unknown;
}

/** Its rejection is handled. */
export function observe<T>(promise: Promise<T>): Observed<T> {
  const observed = {
    state: 'pending' as Observed<T>['state'],
    value: undefined as T | undefined,
    error: undefined as unknown,
  };
  promise.then(
    (value) => Object.assign(observed, { state: 'fulfilled', value }),
    (error: unknown) => Object.assign(observed, { state: 'rejected', error }),
  );

  return observed;
}

/** Work that ends when, and how, a scenario says. */
export class Manual<T = unknown> {
  calls = 0;
  readonly signals: (AbortSignal | undefined)[] = [];
  private readonly ends: { readonly resolve: (value: T) => void; readonly reject: (error: unknown) => void }[] = [];

  readonly work = ({ signal }: { readonly signal?: AbortSignal | undefined }): Promise<T> => {
    this.calls += 1;
    this.signals.push(signal);

    return new Promise<T>((resolve, reject) => this.ends.push({ resolve, reject }));
  };

  /** @param call From 0. */
  resolve(call: number, value: T): void {
    this.ends[call]?.resolve(value);
  }

  reject(call: number, error: unknown): void {
    this.ends[call]?.reject(error);
  }
}

/** The abort listeners that hang on a signal, as far as they were added from here on. Node does not warn of them then. */
export function watchListeners(signal: AbortSignal): () => number {
  setMaxListeners(0, signal);
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  const known = new Set<unknown>();
  signal.addEventListener = function add(this: AbortSignal, ...given: Parameters<AbortSignal['addEventListener']>) {
    if (given[0] === 'abort' && !known.has(given[1])) {
      known.add(given[1]);
      listeners += 1;
    }
    addEventListener.apply(this, given);
  } as AbortSignal['addEventListener'];
  signal.removeEventListener = function remove(
    this: AbortSignal,
    ...given: Parameters<AbortSignal['removeEventListener']>
  ) {
    if (given[0] === 'abort' && known.delete(given[1])) listeners -= 1;
    removeEventListener.apply(this, given);
  } as AbortSignal['removeEventListener'];

  return () => listeners;
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { withTimeout } from './timeout.js';

/** What code below could ask the storage for: by hand one would keep the attempt's limit and number there. */
interface Scope {
  readonly attempt: number;
  readonly timeoutMs: number;
}

const storage = new AsyncLocalStorage<Scope>();

/**
 * `withTimeout()` whose work finds the current attempt in an `AsyncLocalStorage`: the floor for a policy that opens
 * an ambient attempt, where the runtime has made `run()` cheap (Node 24).
 */
export function withTimeoutInScope<T>(work: () => PromiseLike<T>, timeoutMs: number): Promise<T> {
  return storage.run({ attempt: 1, timeoutMs }, withTimeout<T>, work, timeoutMs);
}

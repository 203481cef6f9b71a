import { AsyncLocalStorage, executionAsyncId } from 'node:async_hooks';

/**
 * Until Node 24 the first `AsyncLocalStorage.run()` installs promise hooks, which slow every promise of the process
 * from then on. A process in which they were ever on is not the same again, so a case that needs them off gets a
 * process of its own.
 */
export const hasPromiseHooks = Number.parseInt(process.versions.node, 10) < 24;

const storage = new AsyncLocalStorage<true>();

export function turnOnPromiseHooks(): void {
  storage.run(true, () => {});
}

/** Only with hooks does a continuation run under an async id of its own. */
export async function arePromiseHooksOn(): Promise<boolean> {
  await null;

  return executionAsyncId() !== 0;
}

import { currentScope } from 'holdfast/binding';

/** Where `@Signal()` finds its value. The explorer knows such parameters by this function. */
export function readSignal(): AbortSignal | undefined {
  return currentScope()?.signal;
}

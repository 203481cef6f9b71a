import { currentScope } from '../scope.js';

const READS_SIGNAL = Symbol.for('nestjs.resilience.reads-signal');

/** Where `@Signal()` finds its value. */
export function readSignal(): AbortSignal | undefined {
  return currentScope()?.signal;
}

Object.defineProperty(readSignal, READS_SIGNAL, { value: true });

/** Whether a parameter's factory is that of `@Signal()`, of this copy of the package or another. */
export function readsSignal(factory: unknown): boolean {
  return typeof factory === 'function' && (factory as { readonly [READS_SIGNAL]?: unknown })[READS_SIGNAL] === true;
}

import type { ResilienceEvent } from './events.js';
import type { Scope } from './scope.js';

/**
 * What a runtime lends to the engine. This is the version for runtimes of which nothing is known but the web
 * platform: no scope outlives its call and there are no diagnostics channels; everything else works.
 */
export interface Host {
  /** The scope that the running code was started in, over any number of awaits. */
  currentScope(): Scope | undefined;
  /** Runs `enter(target, scope)` with `scope` as the current scope of all that it starts. */
  runInScope<T, R>(scope: Scope, enter: (target: T, scope: Scope) => R, target: T): R;
  /** Whether anybody reads the diagnostics channel of this type of event. */
  hasSubscribers(type: ResilienceEvent['type']): boolean;
  publish(event: ResilienceEvent): void;
  /** Calls back once input that has already arrived was handled. */
  afterPendingInput(callback: () => void): void;
}

export const host: Host = {
  currentScope: () => undefined,
  runInScope: (scope, enter, target) => enter(target, scope),
  hasSubscribers: () => false,
  publish: () => {},
  afterPendingInput: (callback) => void globalThis.setTimeout(callback, 0),
};

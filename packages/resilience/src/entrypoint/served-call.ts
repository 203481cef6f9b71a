import type { ResilienceEvent } from 'holdfast';
import type { Scope } from 'holdfast/binding';
import type { BegunAnswer } from './answer-budgets.js';

/** A call that an application serves under a plan, as code inside of it can find it. */
export interface ServedCall {
  /** The handler, such as `ShippingController.getQuotes`. */
  readonly source: string;
  /** The class that the handler is a method of. */
  readonly className: string;
  /** Tells `events$` of the application. */
  readonly tell: (event: ResilienceEvent) => void;
  /** Lets `budgets()` know of a fan-out. */
  readonly noteAnswer: (answer: BegunAnswer) => void;
  /** Sections whose failure the log has. */
  readonly loggedSections: Set<string>;
}

/** On the execution of such a call. Registered, so that other copies of this package find it. */
export const SERVED_CALL = Symbol.for('nestjs.resilience.served-call');

/** The innermost call that a scope is part of; `undefined` outside of entrypoints with a plan. */
export function servedCall(innermost: Scope | undefined): ServedCall | undefined {
  for (let scope = innermost; scope !== undefined; scope = scope.outer) {
    const call = (scope.owner as { readonly [SERVED_CALL]?: ServedCall } | undefined)?.[SERVED_CALL];
    if (call !== undefined) return call;
  }

  return undefined;
}

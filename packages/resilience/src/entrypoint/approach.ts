import { AsyncLocalStorage } from 'node:async_hooks';
import { ambientScope, isThenable, type Attempt, type Scope } from 'holdfast/binding';
import { readSignal } from 'holdfast/nest';
import { isObservable } from 'rxjs';

/**
 * The way of an attempt to its handler, through inner interceptors and pipes. Nest stops none of them: when one ends
 * after the attempt was given up, it calls the handler all the same. Nobody would hear that, and after a retry it would
 * be the handler's second run.
 */
export class Approach {
  readonly attempt: Attempt;
  private readonly cls: Function;
  private readonly signalsAt: readonly number[];
  private failure: Reason | undefined = undefined;
  private beginning = 0;
  private returned: Promise<unknown> | undefined = undefined;
  private leaveStream: (() => void) | undefined = undefined;

  /** @param signalsAt Which of the handler's parameters are a `@Signal()`. */
  constructor(attempt: Attempt, cls: Function, signalsAt: readonly number[]) {
    this.attempt = attempt;
    this.cls = cls;
    this.signalsAt = signalsAt;
  }

  /**
   * That on which a method of this instance is called; `undefined` for calls that are nobody's way to a handler. Nest
   * knows an instance by its constructor.
   */
  static of(instance: unknown): Approach | undefined {
    const approach = approaches.getStore();
    if (approach === undefined) return undefined;

    const { constructor } = (instance ?? {}) as { readonly constructor?: unknown };
    return approach.leadsTo(constructor) ? approach : undefined;
  }

  leadsTo(cls: unknown): boolean {
    return cls === this.cls;
  }

  /** Whether the handler has been called, and has not returned yet: there is no promise to be watched. */
  get isBeginning(): boolean {
    return this.beginning > 0;
  }

  /** The attempt has failed, by an inner interceptor's own limit, say. */
  fail(error: unknown): void {
    this.failure = { error };
  }

  /** Its client has left, and the handler runs on: a stream that it comes to have opened has nobody to go to. */
  endWithStream(leave: () => void): void {
    this.leaveStream = leave;
    if (this.returned !== undefined) this.leaveStreamOf(this.returned);
  }

  /**
   * Calls the handler, and shows its promise to the attempt.
   *
   * @throws What the attempt was given up with before.
   */
  enter(call: (parameters: unknown[]) => unknown, parameters: unknown[]): unknown {
    const refusal = this.refusal();
    if (refusal !== undefined) throw refusal.error;

    const isOver = this.attempt.ended;
    this.renewSignals(parameters);
    const result = this.begin(() => call(parameters));
    if (!isThenable(result)) {
      if (isObservable(result)) this.leaveStream?.();
      return result;
    }

    // Others, such as queries, may run anew each time that somebody listens to them.
    const promise = isOver ? Promise.resolve(result) : this.attempt.promiseOf(result);
    this.returned = promise;
    if (this.leaveStream !== undefined) this.leaveStreamOf(promise);
    this.attempt.watch(promise);
    return promise;
  }

  /** The attempts of a call share one list of parameters: a pipe of an earlier one may have put its signal there. */
  private renewSignals(parameters: unknown[]): void {
    for (const at of this.signalsAt) {
      if (parameters[at] instanceof AbortSignal) parameters[at] = readSignal() ?? parameters[at];
    }
  }

  private begin(call: () => unknown): unknown {
    this.beginning += 1;
    try {
      return outsideApproaches(call);
    } finally {
      this.beginning -= 1;
    }
  }

  private leaveStreamOf(promise: Promise<unknown>): void {
    const leave = (value: unknown): void => {
      if (isObservable(value)) this.leaveStream?.();
    };
    promise.then(leave, () => {});
  }

  /** Why the handler must not begin any more. */
  private refusal(): Reason | undefined {
    const innermost = ambientScope();
    if (isAttempt(innermost) && innermost.aborted) return { error: innermost.signal.reason };
    if (this.isDetached(innermost)) return undefined;

    return this.attempt.aborted ? { error: this.attempt.signal.reason } : this.failure;
  }

  /** An inner interceptor may run the rest in an attempt of its own, and say that it outlives ours. */
  private isDetached(innermost: Scope | undefined): boolean {
    if (!isAttempt(innermost) || innermost.ended) return false;

    let scope: Scope | undefined = innermost;
    while (scope !== undefined && scope !== this.attempt) scope = scope.outer;
    return scope === undefined;
  }
}

interface Reason {
  readonly error: unknown;
}

const APPROACHES = Symbol.for('nestjs.resilience.approaches');

/** Of all copies of this package, since any may have decorated a handler. */
const approaches = ((globalThis as Record<symbol, unknown>)[APPROACHES] ??= new AsyncLocalStorage<
  Approach | undefined
>()) as AsyncLocalStorage<Approach | undefined>;

/** Runs what leads to a handler. */
export function runOn<T>(approach: Approach, lead: () => T): T {
  return approaches.run(approach, lead);
}

/** Runs what leads to no handler: in there methods of controllers are methods. */
export function outsideApproaches<T>(call: () => T): T {
  return approaches.run(undefined, call);
}

/** Scopes that are opened by hand are none. */
function isAttempt(scope: Scope | undefined): scope is Scope {
  return scope?.watch !== undefined;
}

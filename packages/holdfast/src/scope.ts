import type { Deadline } from './deadline.js';
import { host } from '#host';
import { followSignal, FollowerList, followWeakly, type Follower, type Link } from './signals.js';

/**
 * The ambient attempt: what code inside an attempt can find out about it without being handed anything, and what
 * policies that are used there inherit. Where the runtime lends no storage for it, nothing is ambient.
 */

/** What the work of an attempt is given. */
export interface AttemptContext {
  /** Aborts when this attempt is given up: by a timeout, by the caller, by an outer attempt. Made when it is first read. */
  readonly signal: AbortSignal;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** By when an answer is of use: that of the earliest budget around; `undefined` where there is none. */
  readonly deadline?: Deadline | undefined;
}

/**
 * A limit while it runs: how long it is tells how much of it whoever is cut has had. On the engine's clock.
 *
 * @internal
 */
export interface Bound {
  readonly startedAt: number;
  readonly dueAt: number;
}

/** The one that cuts first; an absent one never does. */
export function earlierBound(one: Bound | undefined, other: Bound | undefined): Bound | undefined {
  if (one === undefined || other === undefined) return one ?? other;

  return one.dueAt <= other.dueAt ? one : other;
}

/**
 * A stretch of code that inherits; lives in the storage, also for other copies of the engine.
 *
 * @internal
 */
export interface Scope extends AttemptContext {
  /** True for good once its work has settled or its signal has aborted. */
  readonly ended: boolean;
  /** Whether its signal has aborted, or would have if somebody had asked for it. */
  readonly aborted: boolean;
  /** The limit that will cut it, the earliest of those that hold for it; `undefined` without any. */
  readonly bound: Bound | undefined;
  /** The scope that it was opened in. */
  readonly outer: Scope | undefined;
  /** The execution that it belongs to, while it counts: a binding may recognise its own. */
  readonly owner: object | undefined;
  /** Whether this is the signal that it gave to somebody: who follows the scope need not follow that too. */
  hasGiven(signal: AbortSignal): boolean;
  /** Aborts `follower` together with this scope, until it leaves. */
  follow(follower: Follower): Link;
  leave(link: Link): void;
  /** A follower begins to wait, or stops waiting, in one of our queues. */
  onWait(begins: boolean): void;
  /** Knows of a promise of the work that nobody will be listening to once it is given up; attempts only. */
  watch?(work: PromiseLike<unknown>): void;
}

/** The innermost scope, also when it has ended. */
export function ambientScope(): Scope | undefined {
  return host.currentScope();
}

/** The innermost scope that has not ended. */
export function currentScope(): Scope | undefined {
  return livingScope(host.currentScope());
}

export function livingScope(scope: Scope | undefined): Scope | undefined {
  let living = scope;
  while (living?.ended === true) living = living.outer;

  return living;
}

export interface ScopeOptions {
  readonly signal: AbortSignal;
  /** Default 1. */
  readonly attempt?: number;
}

/**
 * Runs `work` as if inside an attempt with this signal, and returns what it returns. Inside another attempt both
 * signals count, until that attempt or `work` settles (when it returns a thenable that is no promise, until the
 * attempt does); work that was started inside keeps `options.signal`.
 */
export function runInScope<T>(options: ScopeOptions, work: () => T): T {
  const scope = new OpenScope(options, currentScope());
  let result: T;
  try {
    result = host.runInScope(scope, work, undefined);
  } catch (error) {
    scope.settle();
    throw error;
  }
  if (result instanceof Promise) {
    const settle = (): void => scope.settle();
    result.then(settle, settle);
  } else if (!isThenable(result)) {
    scope.settle();
  }
  // Other thenables, such as the queries of a builder, may do their work anew each time that somebody waits for them.
  return result;
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    typeof (value as PromiseLike<unknown>).then === 'function'
  );
}

/** A scope opened by hand. It never ends; what it inherits from the scope around it does. */
class OpenScope implements Scope, Follower {
  readonly attempt: number;
  readonly owner = undefined;
  readonly #own: AbortSignal;
  readonly #followers = new FollowerList();
  #outer: Scope | undefined;
  #joined: AbortController | undefined;
  #ownLink: Link | undefined;
  #outerLink: Link | undefined;
  /** Executions inside that have not ended, and how many of them wait: to the outer scope they are one. */
  #count = 0;
  #waiting = 0;
  #outerWaits = false;

  constructor({ signal, attempt = 1 }: ScopeOptions, outer: Scope | undefined) {
    this.attempt = attempt;
    this.#own = signal;
    this.#outer = outer;
  }

  get ended(): boolean {
    return false;
  }

  get deadline(): Deadline | undefined {
    return this.outer?.deadline;
  }

  get bound(): Bound | undefined {
    return this.outer?.bound;
  }

  /** While the outer scope counts; afterwards nothing keeps it from being collected. */
  get outer(): Scope | undefined {
    if (this.#outer?.ended === true) this.settle();
    return this.#outer;
  }

  get aborted(): boolean {
    return this.#own.aborted || this.outer?.aborted === true;
  }

  get signal(): AbortSignal {
    const { outer } = this;
    if (outer !== undefined && this.#joined !== undefined) return this.#joined.signal;
    if (outer === undefined || this.#own.aborted) return this.#own;
    if (outer.aborted) return outer.signal;

    this.#joined = new AbortController();
    this.#link();
    return this.#joined.signal;
  }

  hasGiven(signal: AbortSignal): boolean {
    return signal === this.#own || signal === this.#joined?.signal;
  }

  follow(follower: Follower): Link {
    this.#link();
    this.#count += 1;
    this.#tellWaiting();

    return this.#followers.add(follower);
  }

  leave(link: Link): void {
    link.cut();
    this.#count -= 1;
    this.#tellWaiting();
    if (this.#followers.isEmpty && this.#joined === undefined) this.#unlink();
  }

  onWait(begins: boolean): void {
    this.#waiting += begins ? 1 : -1;
    this.#tellWaiting();
  }

  onAbort(reason: unknown): void {
    this.#unlink();
    this.#joined?.abort(reason);
    this.#followers.abortAll(reason);
  }

  /** The outer scope or the work has settled: from now on only the own signal counts. */
  settle(): void {
    this.#leaveOuter();
    this.#outer = undefined;
    if (this.#joined === undefined || this.#own.aborted) return;

    followWeakly(this.#own, this.#joined);
    this.#joined = undefined;
    if (this.#followers.isEmpty) this.#unlink();
  }

  #link(): void {
    if (!this.#own.aborted) this.#ownLink ??= followSignal(this.#own, this);
    this.#outerLink ??= this.outer?.follow(this);
  }

  #unlink(): void {
    this.#ownLink?.cut();
    this.#ownLink = undefined;
    this.#leaveOuter();
  }

  #leaveOuter(): void {
    if (this.#outerLink === undefined) return;

    if (this.#outerWaits) this.#outer?.onWait(false);
    this.#outerWaits = false;
    this.#outer?.leave(this.#outerLink);
    this.#outerLink = undefined;
  }

  #tellWaiting(): void {
    const allWait = this.#waiting > 0 && this.#waiting === this.#count;
    if (this.#outerLink === undefined || allWait === this.#outerWaits) return;

    this.#outerWaits = allWait;
    this.#outer?.onWait(allWait);
  }
}

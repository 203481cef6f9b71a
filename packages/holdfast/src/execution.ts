import { Attempt, type AttemptOwner } from './attempt.js';
import { now } from './clock.js';
import type { Deadline } from './deadline.js';
import type { Duration } from './duration.js';
import type { Pipeline, Stage } from './pipeline.js';
import { currentScope, earlierBound, type AttemptContext, type Bound, type Scope } from './scope.js';
import { followSignal, type Follower } from './signals.js';
import { Ties } from './ties.js';
import { host } from '#host';

/**
 * How one call walks through its stages.
 *
 * An execution enters its stages from the outermost to the innermost, runs the work, and leaves them in the opposite
 * order with the outcome. A stage lets the call pass, refuses it, or keeps it waiting and lets it go on later; when it
 * is left, it lets the outcome pass, changes it, or takes over (another attempt, a fallback's answer). What a stage
 * has to remember about a call stands in the call's frame for that stage. There is one object for the whole call, one
 * for each attempt, and no promise or closure per stage.
 */

export interface ExecuteOptions {
  /** Gives the whole execution up when it aborts. Joins the signal of the attempt that it is used in. */
  readonly signal?: AbortSignal | undefined;
  /** Labels the events of this execution. */
  readonly source?: string | undefined;
  /** Cuts the link to the attempt that it is used in: for work that outlives a request. Default `false`. */
  readonly detached?: boolean | undefined;
  /** Whether policies inside the work inherit its attempt. Default `true`. */
  readonly ambient?: boolean | undefined;
  /** An amount of time for all that this execution does, but for a fallback's answer. Greater than 0. */
  readonly budget?: Duration | undefined;
}

/** @internal */
export type Work = (context: AttemptContext) => unknown;

/** Runs {@link Execution.performWork} inside the scope of the attempt. */
function performInScope(execution: Execution, scope: Scope): void {
  execution.performWork(scope as Attempt);
}

/** @internal */
export abstract class Execution implements Follower, AttemptOwner {
  readonly pipeline: Pipeline;
  /** The outcome on its way out. */
  ok = false;
  value: unknown = undefined;
  /** Whether the call is being given up from outside the stage that is left. */
  cutting = false;
  /** Whether the outcome is the error of somebody's own callback, which no other attempt would mend. */
  flawed = false;
  /** Goes up whenever the call is given up at some stage; tells a stage whether it may still act after foreign code ran. */
  step = 0;
  /** The number of the attempt that runs or comes next, set by the innermost retry. */
  attemptNumber = 1;
  /** The earliest deadline that holds at this point of the call. */
  deadline: Deadline | undefined = undefined;
  private depth = 0;
  /** Whether the caller aborted while the call was being given up for another reason. */
  private leftMeanwhile = false;
  protected attempt: Attempt | undefined = undefined;
  private readonly options: ExecuteOptions | undefined;
  /** Apart, since most pipelines of a single stage need no more. */
  private outermostFrame: unknown = undefined;
  private innerFrames: unknown[] | undefined = undefined;
  /** Whether attempts are ambient; set before the start by executions whose attempts always are. */
  protected opensScope = false;
  private ties: Ties | undefined = undefined;

  constructor(pipeline: Pipeline, options: ExecuteOptions | undefined) {
    this.pipeline = pipeline;
    this.options = options;
  }

  /** The attempt that this call was made in. */
  get outer(): Scope | undefined {
    return this.ties?.outer;
  }

  get source(): string | undefined {
    return this.options?.source;
  }

  /** What the stage at this place remembers about this call; `undefined` when that is nothing. */
  frame(at: number): unknown {
    return at === 0 ? this.outermostFrame : this.innerFrames?.[at - 1];
  }

  setFrame(at: number, frame: unknown): void {
    if (at === 0) this.outermostFrame = frame;
    else (this.innerFrames ??= this.pipeline.noInnerFrames.slice())[at - 1] = frame;
  }

  /** Whether slots are kept for abandoned work until it has ended. */
  get keepsSlots(): boolean {
    return true;
  }

  get holdsForWork(): boolean {
    return this.pipeline.holdsForWork;
  }

  /** What fallback handlers are told beside the attempt; nothing unless a framework says so. */
  get subject(): unknown {
    return undefined;
  }

  /** Whether something of the outcome has left already, so that it can be neither repeated nor replaced. */
  isCommitted(): boolean {
    return false;
  }

  /** The signal that has aborted, of the caller or of the attempt around, also when we were kept from hearing of it. */
  leftBy(outer = this.outer): AbortSignal | undefined {
    const signal = this.options?.signal;
    if (signal?.aborted === true) return signal;

    return outer?.aborted === true ? outer.signal : undefined;
  }

  /** Whether something around the stage at this place can give the call up. */
  canBeCutAround(at: number): boolean {
    if (this.pipeline.outermostLimit < at) return true;

    const { ties } = this;
    return ties !== undefined && (ties.callerLink !== undefined || ties.outerLink !== undefined);
  }

  /** The limit, of this call or around it, that will cut what runs now. */
  get bound(): Bound | undefined {
    const outer = this.outer?.bound;

    // What has begun to leave is not cut by limits of its own any more.
    return this.isCommitted() ? outer : earlierBound(outer, this.pipeline.bound(this));
  }

  /** Whether the work that runs now will tell when it has ended, also when nobody listens to it any more. */
  protected get isWatched(): boolean {
    return this.attempt?.isWatched === true;
  }

  /** Runs the work of an attempt and reports its outcome, once, with {@link settle}. */
  abstract performWork(attempt: Attempt): void;

  /** The same for a handler that answers instead of the work. */
  protected abstract performHandler(attempt: Attempt, handler: Work): void;

  /** Hands the outcome to whoever waits for it. */
  protected abstract deliver(ok: boolean, value: unknown): void;

  /** The attempt was given up. True when its work is known to have ended with that. */
  protected drop(_attempt: Attempt): boolean {
    return false;
  }

  start(): void {
    const signal = this.options?.signal;
    const around = currentScope();
    const hasCaller = signal !== undefined || around !== undefined;
    if (hasCaller && !this.tie(signal, this.options?.detached === true ? undefined : around)) return;

    this.opensScope ||= (hasCaller || this.pipeline.limits) && this.options?.ambient !== false;
    this.proceed(0);
  }

  /** Ties the call to its caller. `false` when that one has left already. */
  private tie(signal: AbortSignal | undefined, outer: Scope | undefined): boolean {
    const aborted = this.leftBy(outer);
    if (aborted !== undefined) {
      this.onAbort(aborted.reason);
      return false;
    }
    if (outer === undefined && signal === undefined) return true;

    const ties = (this.ties = new Ties());
    ties.outer = outer;
    ties.outerLink = outer?.follow(this);
    this.deadline = outer?.deadline;
    if (signal !== undefined && outer?.hasGiven(signal) !== true) ties.callerLink = followSignal(signal, this);
    return true;
  }

  /** Enters the stages from this place inwards, then runs the work. */
  proceed(from: number): void {
    const left = from > 0 ? this.leftBy() : undefined;
    if (left !== undefined) return this.onAbort(left.reason);

    const stages = this.pipeline.stages;
    for (let at = from; at < stages.length; at++) {
      this.depth = at + 1;
      if (!(stages[at] as Stage).enter(this, at)) return;
    }
    this.depth = stages.length;
    if (this.deadline?.exhausted === true) return this.refuse(this.depth, this.deadline.nothingLeft());

    const attempt = new Attempt(this, this.attemptNumber, this.outer);
    this.attempt = attempt;
    if (this.opensScope || (this.attemptNumber > 1 && this.options?.ambient !== false)) this.openScope(attempt);
    else this.performWork(attempt);
  }

  /** Runs the work of an attempt with that attempt as the ambient one. */
  protected openScope(attempt: Attempt): void {
    host.runInScope(attempt, performInScope, this);
  }

  /** Turns the call away at the stage at this place: the stages around it see a failure. */
  refuse(at: number, error: unknown): void {
    this.ok = false;
    this.value = error;
    this.depth = at;
    this.unwind();
  }

  /** Turns the call away because of a callback's own error. */
  refuseFlawed(at: number, error: unknown): void {
    this.flawed = true;
    this.refuse(at, error);
  }

  /** The outcome becomes a callback's own error. */
  replaceByFlaw(error: unknown): void {
    this.flawed = true;
    this.ok = false;
    this.value = error;
  }

  replaceByFailure(error: unknown): void {
    this.ok = false;
    this.value = error;
  }

  /** Keeps the call at the stage at this place, which will let it go on or give it up. */
  stayAt(at: number): void {
    this.depth = at + 1;
  }

  /** Lets `handler` answer for the stage at this place and all inside it. */
  substitute(at: number, handler: Work): void {
    this.depth = at;
    this.attempt = new Attempt(this, this.attemptNumber, this.outer);
    this.performHandler(this.attempt, handler);
  }

  /** The work of an attempt has an outcome. Heard once, and only while the attempt counts. */
  settle(attempt: Attempt, ok: boolean, value: unknown): void {
    if (attempt !== this.attempt) {
      attempt.end();
      return;
    }

    this.attempt = undefined;
    attempt.settle();
    this.ok = ok;
    this.value = value;
    this.unwind();
  }

  /** Gives up everything inside the stage at this place; that stage and those around it see `reason` as the failure. */
  giveUpInside(at: number, reason: unknown): void {
    this.giveUp(at + 1, reason);
    this.unwind();
  }

  /** The caller, or the attempt around, has aborted. */
  onAbort(reason: unknown): void {
    if (this.cutting) {
      // Foreign code answers the abort of an attempt with that of its caller: the first reason is the one that counts.
      this.leftMeanwhile = true;
      return;
    }
    this.giveUp(0, reason);
    this.finish();
  }

  /** Tells the stages that the call is in, that something of its outcome leaves. */
  protected tellCommit(): void {
    const { stages } = this.pipeline;
    for (let at = 0; at < this.depth; at++) stages[at]?.onCommit?.(this, at);
  }

  markWaiting(waits: boolean): void {
    const ties = (this.ties ??= new Ties());
    if (waits) {
      ties.waitsSince = now();
    } else if (ties.waitsSince !== undefined) {
      ties.waited += now() - ties.waitsSince;
      ties.waitsSince = undefined;
    }
    ties.outer?.onWait(waits);
  }

  /** How long this call has waited in our queues so far, in milliseconds. */
  waitedMs(): number {
    if (this.ties === undefined) return 0;

    const { waited, waitsSince } = this.ties;
    return waitsSince === undefined ? waited : waited + now() - waitsSince;
  }

  private unwind(): void {
    const { step } = this;
    const { stages } = this.pipeline;
    while (this.depth > 0) {
      const at = --this.depth;
      if (!(stages[at] as Stage).leave(this, at) || this.step !== step) return;
    }
    this.finish();
  }

  /** Leaves the stages down to this depth with `reason`, and all of them if the caller leaves meanwhile. */
  private giveUp(depth: number, reason: unknown): void {
    this.step += 1;
    this.cutting = true;
    this.abandonAttempt(reason);
    const { stages } = this.pipeline;
    while (this.depth > (this.leftMeanwhile ? 0 : depth)) {
      const at = --this.depth;
      this.setFailure(reason);
      (stages[at] as Stage).leave(this, at);
    }
    this.cutting = false;
    this.setFailure(reason);
  }

  private setFailure(reason: unknown): void {
    this.ok = false;
    this.value = reason;
    this.flawed = false;
  }

  private abandonAttempt(reason: unknown): void {
    const attempt = this.attempt;
    if (attempt === undefined) return;

    this.attempt = undefined;
    const { stages } = this.pipeline;
    for (let at = 0; at < this.depth; at++) (stages[at] as Stage).keepFor?.(this, at, attempt);
    attempt.abandon(reason);
    if (this.drop(attempt)) attempt.end();
  }

  private finish(): void {
    this.ties?.cut();
    this.deliver(this.ok, this.value);
  }
}

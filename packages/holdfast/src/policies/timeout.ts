import { now } from '../clock.js';
import type { AdaptiveTimeout } from '../adaptive/adaptive-timeout.js';
import { brand } from '../brand.js';
import { meetDeadline, type Deadline } from '../deadline.js';
import { parseDuration, type Duration } from '../duration.js';
import { DeadlineExceededError, discount, ResilienceTimeoutError } from '../errors.js';
import type { Execution } from '../execution.js';
import { refusePromise, rejectUnknown, requireName, requireObject } from '../options.js';
import { StagePolicy } from '../policy.js';
import type { Bound } from '../scope.js';
import { startLimit, stopTimer, type LimitTarget, type Timer } from '../timers.js';

/** How long after a deadline a call ends that has outlived whoever set it, in milliseconds. */
const AFTER_DEADLINE_MS = 1;

/** The limit of an attempt, from 1. Called before each; an invalid answer rejects the execution with a `TypeError`. */
export type TimeoutFunction = (attempt: number) => Duration;

export interface TimeoutOptions {
  /** Shown in events and errors. Default `'timeout'`. */
  readonly name?: string | undefined;
  /** Greater than 0. */
  readonly timeout: Duration | TimeoutFunction | AdaptiveTimeout;
}

/** What a timeout policy goes by, checked. */
export type Limit = number | TimeoutFunction | AdaptiveTimeout;

/** @throws TypeError beginning with `path`. */
export function resolveTimeout(timeout: unknown, path: string): Limit {
  if (typeof timeout === 'function') return timeout as TimeoutFunction;
  if (isAdaptive(timeout)) return timeout;

  return parseDuration(timeout, path, { positive: true });
}

/**
 * Gives an attempt up when its limit is over: the event is published, the attempt's signal aborts, and the call fails,
 * all with the same `ResilienceTimeoutError`, whatever the work does. Inside a retry the limit is that of each
 * attempt, outside that of all of them together. A deadline that comes first is left to whoever set it.
 */
export class TimeoutPolicy extends StagePolicy {
  /** In milliseconds; `undefined` when the limit depends on the attempt, or is learned. */
  readonly timeout: number | undefined;
  private readonly limit: Limit;

  constructor(options: Duration | TimeoutFunction | AdaptiveTimeout | TimeoutOptions) {
    const given: TimeoutOptions = isOptions(options) ? options : { timeout: options };
    if (isOptions(options)) rejectUnknown(options, ['name', 'timeout']);
    const { name = 'timeout', timeout } = given;
    super(requireName(name, 'name'));
    this.limit = resolveTimeout(timeout, '');
    this.timeout = typeof this.limit === 'number' ? this.limit : undefined;
  }

  /** @internal */
  override get limits(): boolean {
    return true;
  }

  /** @internal */
  override get limitMs(): number | undefined {
    return isAdaptive(this.limit) ? this.limit.maxMs : this.timeout;
  }

  /** @internal */
  enter(execution: Execution, at: number): boolean {
    const limitMs = typeof this.limit === 'function' ? this.askLimit(this.limit, execution, at) : currentMs(this.limit);
    if (limitMs === undefined) return false;

    const frame = new RunningLimit(this, execution, at);
    execution.setFrame(at, frame);
    frame.start(limitMs);
    return true;
  }

  /** @internal */
  leave(execution: Execution, at: number): boolean {
    const frame = execution.frame(at) as RunningLimit | undefined;
    if (frame !== undefined) {
      execution.setFrame(at, undefined);
      frame.lift();
      // How long a stream goes on after its first value says nothing about how long that took.
      if (execution.ok && isAdaptive(this.limit) && !execution.isCommitted()) this.limit.record(frame.ranMs());
    }

    return true;
  }

  /** @internal */
  onCommit(execution: Execution, at: number): void {
    const frame = execution.frame(at) as RunningLimit | undefined;
    if (frame !== undefined && isAdaptive(this.limit)) this.limit.record(frame.ranMs());
  }

  /** @internal */
  boundOf(execution: Execution, at: number): Bound | undefined {
    return execution.frame(at) as RunningLimit | undefined;
  }

  /** @internal */
  expire(frame: RunningLimit, stalled: boolean): void {
    const { execution, at, limitMs } = frame;
    if (frame.lifted || execution.isCommitted()) return;

    const { deadline } = frame;
    if (deadline !== undefined) {
      return meetDeadline(deadline, frame, () => {
        if (!frame.lifted && !execution.isCommitted()) execution.giveUpInside(at, exceeded(deadline));
      });
    }

    const ranMs = Math.min(limitMs, frame.ranMs());
    const error = new ResilienceTimeoutError(limitMs, this.name);
    if (stalled || ranMs < limitMs / 2) discount(error);
    else if (isAdaptive(this.limit)) this.limit.recordCut(ranMs);
    if (this.isObserved('timeout')) {
      this.emit({ type: 'timeout', policy: this.name, source: execution.source, timeoutMs: limitMs });
    }
    // A listener may have let the work end at the last moment, or its outcome begin to leave.
    if (!frame.lifted && !execution.isCommitted()) execution.giveUpInside(at, error);
  }

  /** `undefined` when the call goes no further. */
  private askLimit(ask: TimeoutFunction, execution: Execution, at: number): number | undefined {
    const { step } = execution;
    try {
      const limit = ask(execution.attemptNumber);
      refusePromise(limit, 'timeout', 'a duration');
      const limitMs = parseDuration(limit, 'timeout', { positive: true });
      return execution.step === step ? limitMs : undefined;
    } catch (error) {
      if (execution.step === step) execution.refuseFlawed(at, error);
      return undefined;
    }
  }
}

brand(TimeoutPolicy, Symbol.for('holdfast.policy.timeout'));

/**
 * The limit of one attempt while it runs.
 *
 * @internal
 */
class RunningLimit implements LimitTarget, Bound {
  readonly execution: Execution;
  readonly at: number;
  limitMs = 0;
  /** The deadline, when it comes before the limit. */
  deadline: Deadline | undefined = undefined;
  readonly startedAt = now();
  private timer: Timer = undefined;
  private readonly policy: TimeoutPolicy;
  private readonly waitedBefore: number;

  constructor(policy: TimeoutPolicy, execution: Execution, at: number) {
    this.policy = policy;
    this.execution = execution;
    this.at = at;
    this.waitedBefore = execution.waitedMs();
  }

  get lifted(): boolean {
    return this.timer === undefined;
  }

  get dueAt(): number {
    return this.startedAt + this.limitMs;
  }

  start(limitMs: number): void {
    this.limitMs = limitMs;
    const { deadline } = this.execution;
    const leftMs = deadline === undefined ? Infinity : deadline.remaining();
    if (leftMs <= limitMs) this.deadline = deadline;
    // Whoever set an earlier deadline ends the call at it, so ours comes a little later.
    this.timer = startLimit(leftMs <= limitMs ? leftMs + AFTER_DEADLINE_MS : limitMs, this);
  }

  expire(stalled: boolean): void {
    this.policy.expire(this, stalled);
  }

  /** The time that was spent outside our own queues, which are not the dependency's fault. */
  ranMs(): number {
    return now() - this.startedAt - (this.execution.waitedMs() - this.waitedBefore);
  }

  lift(): void {
    stopTimer(this.timer);
    this.timer = undefined;
  }
}

function exceeded({ budgetMs, inherited, policy }: Deadline): DeadlineExceededError {
  const error = new DeadlineExceededError(budgetMs, policy);
  if (inherited) discount(error);

  return error;
}

function currentMs(limit: number | AdaptiveTimeout): number {
  return typeof limit === 'number' ? limit : limit.limitMs;
}

/** By its shape, so that one of another copy of this package is one too. */
function isAdaptive(limit: unknown): limit is AdaptiveTimeout {
  if (typeof limit !== 'object' || limit === null) return false;

  const { record, recordCut } = limit as Partial<AdaptiveTimeout>;
  return typeof record === 'function' && typeof recordCut === 'function';
}

function isOptions(options: unknown): options is TimeoutOptions {
  if (typeof options !== 'object' || isAdaptive(options)) return false;

  requireObject(options, '', "Use a duration such as '2s', or { timeout: '2s' }.");
  return true;
}

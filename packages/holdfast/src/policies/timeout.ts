import { now } from '../clock.js';
import type { Deadline } from '../deadline.js';
import { parseDuration, type Duration } from '../duration.js';
import { DeadlineExceededError, discount, ResilienceTimeoutError } from '../errors.js';
import type { Execution } from '../execution.js';
import { refusePromise, rejectUnknown, requireName, requireObject } from '../options.js';
import { StagePolicy } from '../policy.js';
import { startLimit, stopTimer, type LimitTarget, type Timer } from '../timers.js';

/** The limit of an attempt, from 1. Called before each; an invalid answer rejects the execution with a `TypeError`. */
export type TimeoutFunction = (attempt: number) => Duration;

export interface TimeoutOptions {
  /** Shown in events and errors. Default `'timeout'`. */
  readonly name?: string | undefined;
  /** Greater than 0. */
  readonly timeout: Duration | TimeoutFunction;
}

/** @throws TypeError beginning with `path`. */
export function resolveTimeout(timeout: unknown, path: string): number | TimeoutFunction {
  if (typeof timeout === 'function') return timeout as TimeoutFunction;

  return parseDuration(timeout, path, { positive: true });
}

/**
 * Gives an attempt up when its limit is over: the event is published, the attempt's signal aborts, and the call fails,
 * all with the same `ResilienceTimeoutError`, whatever the work does. Inside a retry the limit is that of each
 * attempt, outside that of all of them together.
 */
export class TimeoutPolicy extends StagePolicy {
  /** In milliseconds; `undefined` when the limit depends on the attempt. */
  readonly timeout: number | undefined;
  private readonly limit: number | TimeoutFunction;

  constructor(options: Duration | TimeoutFunction | TimeoutOptions) {
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
    return this.timeout;
  }

  /** @internal */
  enter(execution: Execution, at: number): boolean {
    const limitMs = typeof this.limit === 'number' ? this.limit : this.askLimit(execution, at);
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
    }

    return true;
  }

  /** @internal */
  expire(frame: RunningLimit, stalled: boolean): void {
    const { execution, at, limitMs } = frame;
    if (frame.lifted || execution.isCommitted()) return;

    if (frame.deadline !== undefined) return this.expireByDeadline(frame, frame.deadline);

    const error = new ResilienceTimeoutError(limitMs, this.name);
    if (stalled || frame.ranMs() < limitMs / 2) discount(error);
    if (this.isObserved('timeout')) {
      this.emit({ type: 'timeout', policy: this.name, source: execution.source, timeoutMs: limitMs });
      // A listener may have let the work end at the last moment, or its outcome begin to leave.
      if (frame.lifted || execution.isCommitted()) return;
    }
    execution.giveUpInside(at, error);
  }

  /** The deadline came first. Whoever set it has told of it. */
  private expireByDeadline({ execution, at }: RunningLimit, { budgetMs, inherited, policy }: Deadline): void {
    const error = new DeadlineExceededError(budgetMs, policy);
    if (inherited) discount(error);
    execution.giveUpInside(at, error);
  }

  /** `undefined` when the call goes no further. */
  private askLimit(execution: Execution, at: number): number | undefined {
    const { step } = execution;
    try {
      const limit = (this.limit as TimeoutFunction)(execution.attemptNumber);
      refusePromise(limit, 'timeout', 'a duration');
      const limitMs = parseDuration(limit, 'timeout', { positive: true });
      return execution.step === step ? limitMs : undefined;
    } catch (error) {
      if (execution.step === step) execution.refuseFlawed(at, error);
      return undefined;
    }
  }
}

/**
 * The limit of one attempt while it runs.
 *
 * @internal
 */
class RunningLimit implements LimitTarget {
  readonly execution: Execution;
  readonly at: number;
  limitMs = 0;
  /** The deadline, when it comes before the limit. */
  deadline: Deadline | undefined = undefined;
  dueAt = 0;
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

  start(limitMs: number): void {
    const { deadline } = this.execution;
    const leftMs = deadline === undefined ? Infinity : deadline.remaining();
    if (leftMs <= limitMs) this.deadline = deadline;
    this.limitMs = Math.min(limitMs, leftMs);
    this.dueAt = now() + this.limitMs;
    this.timer = startLimit(this.limitMs, this);
  }

  expire(stalled: boolean): void {
    this.policy.expire(this, stalled);
  }

  /** How much of the limit was spent outside our own queues, which are not the dependency's fault. */
  ranMs(): number {
    return this.limitMs - (this.execution.waitedMs() - this.waitedBefore);
  }

  lift(): void {
    stopTimer(this.timer);
    this.timer = undefined;
  }
}

function isOptions(options: unknown): options is TimeoutOptions {
  if (typeof options !== 'object') return false;

  requireObject(options, '', "Use a duration such as '2s', or { timeout: '2s' }.");
  return true;
}

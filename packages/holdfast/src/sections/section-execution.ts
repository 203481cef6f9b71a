import type { Attempt } from '../attempt.js';
import { now } from '../clock.js';
import { Deadline } from '../deadline.js';
import { DeadlineExceededError, discount, ResilienceTimeoutError } from '../errors.js';
import { Execution, type Work } from '../execution.js';
import { Pipeline, type Stage } from '../pipeline.js';
import { RetryPolicy } from '../policies/retry.js';
import type { ResiliencePolicy } from '../policy.js';
import { isThenable, type Bound } from '../scope.js';
import { timeLimitError } from '../time-limit-error.js';
import { startLimit, stopTimer, type LimitTarget, type Timer } from '../timers.js';
import type { Answer } from './answer.js';
import type { SectionSettings } from './section.js';

/**
 * What a section's execution is made for, and who hears how it ended.
 *
 * @internal
 */
export interface SectionOwner {
  readonly name: string;
  readonly settings: SectionSettings;
  readonly answer: Answer;
  /** The section's function, with what it waited for. */
  readonly work: Work;
  onSettled(ok: boolean, value: unknown): void;
  /** The caller, or the attempt around, has aborted. */
  onLeft(reason: unknown): void;
}

/**
 * The call of one section: its policy's stages inside of its own limit, which is also the deadline of all that it
 * starts.
 *
 * @internal
 */
export class SectionExecution extends Execution implements LimitTarget {
  dueAt = Infinity;
  /** Whether the section's function was called. */
  hasRun = false;
  /** Whether its time was over before it ended. */
  isCut = false;
  limitMs = Infinity;
  /** How long it took, in whole milliseconds; 0 when it never began. */
  tookMs = 0;
  /** On the engine's clock. */
  private startedAt = 0;
  private isLeftByCaller = false;
  /** The deadline of the whole answer, less what is reserved, when it comes before the section's own limit. */
  private cutBy: Deadline | undefined = undefined;
  private deadlineOfWork: Deadline | undefined = undefined;
  private timer: Timer = undefined;
  private readonly owner: SectionOwner;

  constructor(owner: SectionOwner) {
    super(pipelineOf(owner), owner.answer.callOptions);
    this.owner = owner;
  }

  get lifted(): boolean {
    return this.timer === undefined;
  }

  /** Sets the limit. `false` when nothing is left to run the section with. */
  begin(): boolean {
    const { answer, settings } = this.owner;
    const { deadline } = answer;
    const startedAt = now();
    const reserveMs = settings.reserveMs ?? answer.reserveMs;
    const leftMs = deadline === undefined ? Infinity : deadline.expiresAt - startedAt - reserveMs;
    if (leftMs <= 0 || (deadline !== undefined && leftMs < deadline.minRemainingMs)) return false;

    this.startedAt = startedAt;
    const ownMs = ownLimitMs(settings);
    this.limitMs = Math.min(ownMs, leftMs);
    if (leftMs < ownMs) this.cutBy = reserveMs === 0 ? deadline : (deadline as Deadline).reserve(reserveMs);
    if (this.limitMs === Infinity) return true;

    this.dueAt = startedAt + this.limitMs;
    this.deadline = this.deadlineOfWork = this.ownDeadline(startedAt, deadline);
    this.deadlineOfWork.keeper = this;
    this.timer = startLimit(this.limitMs, this);
    return true;
  }

  /** The section's time is over: whatever it does, it has no answer. */
  expire(stalled: boolean): void {
    if (this.lifted) return;

    const { timeout } = this.owner.settings;
    const tells = this.cutBy === undefined && !stalled && !this.hasMostlyWaited();
    if (tells && typeof timeout === 'object') timeout.recordCut(this.ranMs());
    this.isCut = !stalled;
    this.giveUpInside(0, this.exceeded(stalled));
  }

  /** The section has an outcome within its own stages, or was given up. */
  end(): void {
    const endedAt = now();
    // A timer is never quite on time; what was decided is the limit. A clock that is moved by hand may be moved backwards.
    this.tookMs = this.isCut ? Math.round(this.limitMs) : Math.max(0, Math.round(endedAt - this.startedAt));
    stopTimer(this.timer);
    this.timer = undefined;
    if (this.deadlineOfWork !== undefined) this.deadlineOfWork.keeper = undefined;
    if (!this.cutting) this.deadlineOfWork?.release();
    if (!this.ok) return;

    // The event loop was held: the answer is there, but too late for whoever set the limit.
    const { timeout } = this.owner.settings;
    if (this.dueAt <= endedAt) this.replaceByFailure(this.exceeded(true));
    else if (typeof timeout === 'object') timeout.record(this.ranMs());
  }

  /** What is started late in the answer has not had all of its time. */
  ownBound(): Bound | undefined {
    const { cutBy, dueAt, startedAt } = this;

    return dueAt === Infinity ? undefined : { startedAt: cutBy?.startedAt ?? startedAt, dueAt };
  }

  /** What refuses a section that would have no time to run in. */
  exhausted(): DeadlineExceededError {
    return (this.owner.answer.deadline as Deadline).nothingLeft();
  }

  override onAbort(reason: unknown): void {
    // While it is being cut, the abort is foreign code's answer to that, and comes second.
    if (!this.cutting) this.isLeftByCaller = true;
    super.onAbort(reason);
  }

  performWork(attempt: Attempt): void {
    this.hasRun = true;
    this.performHandler(attempt, this.owner.work);
  }

  protected performHandler(attempt: Attempt, handler: Work): void {
    let result: unknown;
    try {
      result = handler(attempt);
      if (isThenable(result)) {
        void attempt.promiseOf(result).then(
          (value) => this.settle(attempt, true, value),
          (error: unknown) => this.settle(attempt, false, error),
        );
        return;
      }
    } catch (error) {
      this.settle(attempt, false, error);
      return;
    }
    this.settle(attempt, true, result);
  }

  protected deliver(ok: boolean, value: unknown): void {
    if (this.isLeftByCaller) this.owner.onLeft(value);
    else this.owner.onSettled(ok, value);
  }

  private ownDeadline(startedAt: number, around: Deadline | undefined): Deadline {
    const { name } = this.owner;
    const bound = this.cutBy !== undefined;
    const minRemainingMs = bound ? (around as Deadline).minRemainingMs : 0;

    return Deadline.from(startedAt, this.limitMs, {
      policy: bound ? this.owner.answer.name : name,
      minRemainingMs,
      inherited: bound && (around as Deadline).inherited,
    });
  }

  private exceeded(stalled: boolean): DOMException {
    const { cutBy, limitMs } = this;
    const error =
      cutBy === undefined
        ? new ResilienceTimeoutError(limitMs, this.owner.name)
        : new DeadlineExceededError(cutBy.budgetMs, cutBy.policy);
    if (stalled || cutBy?.inherited === true || this.hasMostlyWaited()) discount(error);

    return timeLimitError(error);
  }

  /** Whether more than half of its time was spent in our own queues: then the dependency may well be quick. */
  private hasMostlyWaited(): boolean {
    return this.waitedMs() > this.limitMs / 2;
  }

  /** The time that was spent outside our own queues, which are not the dependency's fault. */
  private ranMs(): number {
    return Math.min(this.limitMs, now() - this.startedAt) - this.waitedMs();
  }
}

function ownLimitMs({ timeout }: SectionSettings): number {
  if (timeout === undefined) return Infinity;

  return typeof timeout === 'number' ? timeout : timeout.limitMs;
}

/** The limit of a section, as the outermost of its stages. What it remembers about a call stands in the call. */
class SectionLimit implements Stage {
  readonly name = 'section';
  readonly repeatable = false;
  readonly limits = true;
  readonly limitMs = undefined;
  readonly answersFailures = false;

  enter(execution: Execution, at: number): boolean {
    const section = execution as SectionExecution;
    if (section.begin()) return true;

    section.refuse(at, section.exhausted());
    return false;
  }

  leave(execution: Execution): boolean {
    (execution as SectionExecution).end();

    return true;
  }

  boundOf(execution: Execution): Bound | undefined {
    return (execution as SectionExecution).ownBound();
  }
}

const LIMIT = new SectionLimit();
const limitAlone = new Pipeline([LIMIT]);
/** Composed once for each policy, since sections are often declared anew for each answer. */
const composed = new WeakMap<ResiliencePolicy, Pipeline>();

function pipelineOf({ name, settings }: SectionOwner): Pipeline {
  const { idempotent, policy } = settings;
  if (policy === undefined) {
    return idempotent ? new Pipeline([LIMIT, new RetryPolicy({ name, attempts: 2 })]) : limitAlone;
  }

  let pipeline = composed.get(policy);
  if (pipeline === undefined) {
    pipeline = new Pipeline([LIMIT, ...policy.pipeline.stages]);
    composed.set(policy, pipeline);
  }

  return pipeline;
}

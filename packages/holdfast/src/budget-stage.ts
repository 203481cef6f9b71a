import { now } from './clock.js';
import { Deadline, earliest } from './deadline.js';
import { DeadlineExceededError, discount } from './errors.js';
import type { EventSource } from './events.js';
import type { Execution } from './execution.js';
import type { Stage } from './pipeline.js';
import type { Bound } from './scope.js';
import { causeOf, limitBehind } from './time-limit-error.js';
import { startLimit, stopTimer, type LimitTarget, type Timer } from './timers.js';

/** The settings of a budget, checked. */
export interface ResolvedBudget {
  readonly name: string;
  readonly budgetMs: number;
  readonly minRemainingMs: number;
  /** Whether the caller on the other side of the wire set it. */
  readonly inherited: boolean;
}

/**
 * The stage of a budget: everything inside, all attempts, waits and queues together, ends at its deadline. Stands by
 * itself, beside the policy of the same name, so that a budget can also be given for one call of any policy.
 */
export class BudgetStage implements Stage {
  readonly name: string;
  readonly repeatable = true;
  readonly limits = true;
  /** Not the limit of an attempt. */
  readonly limitMs = undefined;
  readonly answersFailures = false;
  readonly budget: ResolvedBudget;
  readonly #events: EventSource;

  constructor(budget: ResolvedBudget, events: EventSource) {
    this.name = budget.name;
    this.budget = budget;
    this.#events = events;
  }

  enter(execution: Execution, at: number): boolean {
    const { budgetMs, inherited, minRemainingMs, name } = this.budget;
    const own = Deadline.after(budgetMs, { policy: name, minRemainingMs, inherited });
    const frame = new RunningBudget(this, execution, at);
    execution.setFrame(at, frame);
    frame.start(own);
    return true;
  }

  leave(execution: Execution, at: number): boolean {
    const frame = execution.frame(at) as RunningBudget | undefined;
    if (frame === undefined) return true;

    execution.setFrame(at, undefined);
    frame.lift();
    // Work that was given up may hear of the deadline alone.
    if (!execution.cutting) frame.own?.release();
    // Behind a held event loop an answer is too late for whoever set the budget; a failure for want of time is the budget's.
    const isReplaced = execution.ok ? frame.isOver : frame.isExhausted && tellsOfDeadline(execution.value);
    if (isReplaced && !execution.isCommitted()) execution.replaceByFailure(this.exceeded(frame, true));
    return true;
  }

  boundOf(execution: Execution, at: number): Bound | undefined {
    return execution.frame(at) as RunningBudget | undefined;
  }

  expire(frame: RunningBudget, stalled: boolean): void {
    const { execution, at } = frame;
    if (frame.lifted || execution.isCommitted()) return;

    const error = this.exceeded(frame, stalled);
    const { step, source } = execution;
    const { budgetMs, name: policy } = this.budget;
    if (this.#events.isObserved('deadline')) this.#events.emit({ type: 'deadline', policy, source, budgetMs });
    if (execution.step === step) execution.giveUpInside(at, error);
  }

  private exceeded(frame: RunningBudget, stalled: boolean): DeadlineExceededError {
    const { budgetMs, inherited, name } = this.budget;
    const error = new DeadlineExceededError(budgetMs, name);
    if (inherited || stalled || frame.waitedMs() > budgetMs / 2) discount(error);

    return error;
  }
}

/** The budget of one call while it runs. */
class RunningBudget implements LimitTarget, Bound {
  readonly execution: Execution;
  readonly at: number;
  startedAt = 0;
  dueAt = Infinity;
  own: Deadline | undefined = undefined;
  private timer: Timer = undefined;
  private readonly stage: BudgetStage;
  /** The deadline that holds outside of this budget. */
  private readonly around: Deadline | undefined;
  private readonly waitedBefore: number;

  constructor(stage: BudgetStage, execution: Execution, at: number) {
    this.stage = stage;
    this.execution = execution;
    this.at = at;
    this.around = execution.deadline;
    this.waitedBefore = execution.waitedMs();
  }

  get lifted(): boolean {
    return this.timer === undefined;
  }

  get isOver(): boolean {
    return this.dueAt <= now();
  }

  /** Whether too little is left to start anything. */
  get isExhausted(): boolean {
    return this.own?.exhausted === true;
  }

  start(own: Deadline): void {
    this.own = own;
    own.keeper = this;
    this.execution.deadline = earliest(this.around, own);
    this.startedAt = own.startedAt;
    this.dueAt = own.expiresAt;
    this.timer = startLimit(own.budgetMs, this);
  }

  expire(stalled: boolean): void {
    this.stage.expire(this, stalled);
  }

  /** How much of the budget was spent in our own queues. */
  waitedMs(): number {
    return this.execution.waitedMs() - this.waitedBefore;
  }

  lift(): void {
    stopTimer(this.timer);
    this.timer = undefined;
    if (this.own !== undefined) this.own.keeper = undefined;
    this.execution.deadline = this.around;
  }
}

/**
 * Whether work has failed since it heard of the deadline, or of how little is left, before its own call did: in its
 * platform form, or as the cause of an error of its own.
 */
function tellsOfDeadline(error: unknown): boolean {
  if (error instanceof DeadlineExceededError) return false;

  return (limitBehind(error) ?? limitBehind(causeOf(error))) instanceof DeadlineExceededError;
}

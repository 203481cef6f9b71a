import type { DeadlineModel, Outcome, Run } from '../run.js';
import { limitIn, shapeOf, show, STALL_MS } from '../watch.js';
import { StageModel, type Place, type Told } from './stage-model.js';

/** How long after a deadline a call ends that has outlived whoever set it. */
const AFTER_DEADLINE_MS = 1;

/** Nothing is started with less left of a budget. */
const LEAST_MS = 1;

/** Where the error of a limit has its length. */
const LENGTH_FIELDS = { TIMEOUT: 'timeoutMs', DEADLINE_EXCEEDED: 'budgetMs' } as const;

interface LimitFrame {
  readonly enteredAt: number;
  readonly limitMs: number;
  readonly waitedBefore: number;
  /** The deadline around. */
  readonly around: DeadlineModel | undefined;
  back: Outcome | undefined;
  told: number;
}

abstract class LimitModel extends StageModel<LimitFrame> {
  /** What tells of its end. */
  protected abstract readonly event: 'timeout' | 'deadline';

  protected frameOf(run: Run, limitMs: number): LimitFrame {
    const { now } = this.watch;

    return { enteredAt: now, limitMs, waitedBefore: run.waitedMs, around: run.deadline, back: undefined, told: 0 };
  }

  goIn(): void {}

  protected onBack(_run: Run, frame: LimitFrame, outcome: Outcome): void {
    frame.back = outcome;
  }

  override check(isOver: boolean): void {
    if (!isOver) return;

    for (const frame of this.frames.values()) {
      const late = this.watch.now - this.endOf(frame);
      this.require(late < 0, 'limit-to-the-millisecond', `still waits ${late} ms after its end`);
    }
  }

  override onEvent({ type, source }: Told): void {
    if (type !== this.event) return;

    for (const [run, frame] of this.frames) {
      if (run.owner.id === source && this.dueAt(frame) <= this.watch.now) frame.told += 1;
    }
  }

  protected dueAt({ enteredAt, limitMs }: LimitFrame): number {
    return enteredAt + Math.ceil(limitMs);
  }

  /** When its call has ended, whoever ends it. */
  protected endOf(frame: LimitFrame): number {
    return this.dueAt(frame);
  }

  protected latenessOf(frame: LimitFrame, error: unknown): number {
    const late = this.watch.now - frame.enteredAt - frame.limitMs;
    this.watch.lateness.set(Object(error), late);
    if (late > STALL_MS) this.watch.reach('late timer');

    return late;
  }

  protected requireCode(value: unknown, code: keyof typeof LENGTH_FIELDS, ms: number): void {
    const shape = shapeOf(value);
    const told = shape[LENGTH_FIELDS[code]];
    this.require(
      shape.code === code && told === ms,
      'reasons-apart',
      `a limit of ${ms} ms ended with ${show(value)} of ${String(told)}`,
    );
  }

  protected requireTold({ owner }: Run, { told }: LimitFrame): void {
    this.require(told === 1 || owner.sharesId, 'reasons-apart', `told of its end ${told} times`);
  }

  protected requireInTime(dueAt: number): void {
    this.require(dueAt <= this.watch.now, 'limit-to-the-millisecond', `cut ${dueAt - this.watch.now} ms too early`);
  }
}

interface AdaptiveLimit {
  readonly limitMs: number;
}

/** The limit of an attempt, or of several. A deadline that comes first is left to whoever set it. */
export class TimeoutModel extends LimitModel {
  protected readonly event = 'timeout';

  constructor(
    place: Place,
    private readonly limit: number | AdaptiveLimit,
  ) {
    super(place);
  }

  protected override endOf(frame: LimitFrame): number {
    return this.deadlineBefore(frame) ? endAfterDeadline(frame) : this.dueAt(frame);
  }

  protected begin(run: Run): LimitFrame {
    return this.frameOf(run, typeof this.limit === 'number' ? this.limit : this.limit.limitMs);
  }

  protected onLeave(run: Run, frame: LimitFrame, outcome: Outcome): void {
    const { back } = frame;
    this.requirePassed(back, outcome);
    if (back?.cutting !== true) return;
    if (this.deadlineBefore(frame)) return this.onDeadline(frame.around!, outcome);

    this.watch.reach('timed out');
    this.requireInTime(this.dueAt(frame));
    this.requireCode(outcome.value, 'TIMEOUT', frame.limitMs);
    this.requireOwn(outcome.value);
    this.requireTold(run, frame);
    const ranMs = Math.min(frame.limitMs, this.watch.now - frame.enteredAt - (run.waitedMs - frame.waitedBefore));
    const excused = this.latenessOf(frame, outcome.value) > STALL_MS || ranMs < frame.limitMs / 2;
    this.watch.blame(outcome.value, excused ? 'does not count' : 'counts');
  }

  private onDeadline(deadline: DeadlineModel, { value }: Outcome): void {
    this.requireInTime(deadline.expiresAt);
    this.requireCode(value, 'DEADLINE_EXCEEDED', deadline.budgetMs);
  }

  private deadlineBefore({ around, enteredAt, limitMs }: LimitFrame): boolean {
    return around !== undefined && Math.max(0, around.expiresAt - enteredAt) <= limitMs;
  }
}

/** All that a call does, within one amount of time; `undefined` lets calls pass that have none of their own. */
export class BudgetModel extends LimitModel {
  protected readonly event = 'deadline';

  constructor(
    place: Place,
    private readonly budgetMs: number | undefined,
  ) {
    super(place);
  }

  protected begin(run: Run): LimitFrame {
    const budgetMs = this.budgetMs ?? run.owner.budgetMs ?? Infinity;
    const frame = this.frameOf(run, budgetMs);
    const expiresAt = this.dueAt(frame);
    if (expiresAt < (run.deadline?.expiresAt ?? Infinity)) run.deadline = { expiresAt, budgetMs, leastMs: LEAST_MS };

    return frame;
  }

  protected override onCut(run: Run, frame: LimitFrame): void {
    run.deadline = frame.around;
  }

  protected onLeave(run: Run, frame: LimitFrame, outcome: Outcome): void {
    const { back, limitMs } = frame;
    run.deadline = frame.around;
    const replaced = back?.cutting === false && this.comesTooLate(frame, back);
    if (back?.cutting !== true && !replaced) return this.requirePassed(back, outcome);

    this.watch.reach('deadline expired');
    this.requireInTime(this.dueAt(frame));
    this.requireCode(outcome.value, 'DEADLINE_EXCEEDED', limitMs);
    if (!replaced) {
      this.requirePassed(back, outcome);
      this.requireTold(run, frame);
    }
    const mostlyWaited = run.waitedMs - frame.waitedBefore > limitMs / 2;
    const excused = replaced || this.latenessOf(frame, outcome.value) > STALL_MS || mostlyWaited;
    this.watch.blame(outcome.value, excused ? 'does not count' : 'counts');
  }

  /** An answer of the last moment, or word of the deadline from work that heard of it before its call did. */
  private comesTooLate(frame: LimitFrame, { ok, value }: Outcome): boolean {
    const leftMs = frame.enteredAt + frame.limitMs - this.watch.now;
    if (ok) return leftMs <= 0;

    const tells = limitIn(value) ?? limitIn(shapeOf(value).cause);
    return leftMs < LEAST_MS && tells?.code === 'DEADLINE_EXCEEDED' && shapeOf(value).code !== 'DEADLINE_EXCEEDED';
  }
}

/** A call may begin when the deadline around is over: its limit is the shortest one then. */
function endAfterDeadline({ around, enteredAt }: LimitFrame): number {
  return Math.ceil(Math.max(around?.expiresAt ?? Infinity, enteredAt)) + AFTER_DEADLINE_MS;
}

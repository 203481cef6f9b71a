import type { Watch } from './watch.js';

/** A deadline as the models know it. */
export interface DeadlineModel {
  readonly expiresAt: number;
  readonly budgetMs: number;
  /** Nothing is started with less left. */
  readonly leastMs: number;
}

/** Somebody who makes calls with a signal. */
export interface Caller {
  readonly controller: AbortController;
  /** How many listeners stand on its signal. */
  readonly listeners: () => number;
  reason: unknown;
}

export interface Outcome {
  readonly ok: boolean;
  readonly value: unknown;
  /** Whether the call is being given up from further outside. */
  readonly cutting: boolean;
}

/** What the engine gives to work. */
export interface AttemptContext {
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly deadline?: { remaining(): number } | undefined;
}

/** One run of somebody's work, or of a fallback's handler. */
export class AttemptRecord {
  state: 'running' | 'settled' | 'cut' = 'running';
  reason: unknown = undefined;
  cutAt: number | undefined = undefined;
  /** Whether what the work returned is still pending. */
  works = true;
  signal: AbortSignal | undefined = undefined;
  private inside = 0;
  private waiting = 0;

  constructor(
    readonly run: Run,
    readonly context: AttemptContext,
  ) {}

  /** The innermost attempt from here on outwards that has not ended; `undefined` when all have. */
  get living(): AttemptRecord | undefined {
    return this.state === 'running' ? this : this.run.owner.outer?.living;
  }

  /** What a call inherits that is started inside. */
  get inherited(): AttemptRecord | undefined {
    const { around, ambient, isOpened } = this.run.owner;

    return ambient && (isOpened || this.context.attempt > 1) ? this.living : around?.living;
  }

  get allWait(): boolean {
    return this.waiting > 0 && this.waiting === this.inside;
  }

  /** Calls inside begin or end, or begin or stop waiting: time counts as waiting while all of them wait. */
  count(inside: number, waiting: number): void {
    const before = this.allWait;
    this.inside += inside;
    this.waiting += waiting;
    if (this.allWait !== before && this.state === 'running') this.run.markWaiting(this.allWait);
  }

  close(state: 'settled' | 'cut', reason?: unknown): void {
    if (this.allWait) this.run.markWaiting(false);
    this.state = state;
    this.reason = reason;
    if (state === 'cut') this.cutAt = this.run.watch.now;
  }
}

/** What a run is made for, as far as its stages ask. */
export interface RunOwner {
  readonly id: string;
  readonly caller: Caller | undefined;
  readonly outer: AttemptRecord | undefined;
  /** The attempt whose signal it was given, if that is it. */
  readonly follows: AttemptRecord | undefined;
  /** The attempt that code inside inherits where its own are not ambient. */
  readonly around: AttemptRecord | undefined;
  /** Whether its own may be. */
  readonly ambient: boolean;
  /** Whether there is anything to inherit from the first of them. */
  readonly isOpened: boolean;
  /** Of this one call. */
  readonly budgetMs: number | undefined;
  /** Whether other runs go by the same name, as the sections of one answer do. */
  readonly sharesId: boolean;
}

/** One call on its way through its stages. */
export class Run {
  /** How many layers it is inside of. */
  depth = 0;
  isOver = false;
  /** Whether an own error of a predicate is on its way out. */
  isFlawed = false;
  attemptNumber = 1;
  attempt: AttemptRecord | undefined = undefined;
  outcome: Outcome | undefined = undefined;
  /** Attempts that were given up. */
  readonly abandoned: AttemptRecord[] = [];
  private waited = 0;
  private waitsSince: number | undefined = undefined;

  constructor(
    readonly watch: Watch,
    readonly owner: RunOwner,
    /** The earliest that holds where it is now. */
    public deadline: DeadlineModel | undefined,
  ) {
    owner.outer?.count(1, 0);
  }

  /** Whether its caller, or the attempt around, has given it up. */
  get isLeft(): boolean {
    const { caller, outer, follows } = this.owner;

    return caller?.controller.signal.aborted === true || outer?.state === 'cut' || follows?.state === 'cut';
  }

  /** Whether too little time is left, after a wait, to start anything. */
  isOutOfTime(waitMs = 0): boolean {
    const { deadline } = this;
    if (deadline === undefined) return false;

    const leftMs = deadline.expiresAt - this.watch.now - waitMs;
    return leftMs <= 0 || leftMs < deadline.leastMs;
  }

  markWaiting(waits: boolean): void {
    if (waits) {
      this.waitsSince = this.watch.now;
    } else if (this.waitsSince !== undefined) {
      this.waited += this.watch.now - this.waitsSince;
      this.waitsSince = undefined;
    }
    this.owner.outer?.count(0, waits ? 1 : -1);
  }

  /** How long it has waited in queues so far. */
  get waitedMs(): number {
    return this.waited + (this.waitsSince === undefined ? 0 : this.watch.now - this.waitsSince);
  }

  /** The outermost layer was left. */
  end(outcome: Outcome): void {
    this.isOver = true;
    this.outcome = outcome;
    this.owner.outer?.count(-1, 0);
  }
}

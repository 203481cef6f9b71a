import type { AttemptRecord, Caller, Run, RunOwner } from './run.js';
import { limitIn, shapeOf, show, type Watch } from './watch.js';

/** Something that a scenario has started and whose promise it looks at: a call, or an answer of sections. */
export class Started {
  settled: { readonly ok: boolean; readonly value: unknown } | undefined = undefined;
  readonly runs: Run[] = [];
  /** Set when its caller leaves while it runs, between two turns. */
  leftFor: unknown = undefined;
  private isChecked = false;

  constructor(
    readonly watch: Watch,
    readonly owner: RunOwner,
    readonly kind: 'call' | 'plain call' | 'answer',
  ) {}

  /** Whether what it comes to is what its one run comes to. */
  private get isCall(): boolean {
    return this.kind === 'call';
  }

  follow(promise: Promise<unknown>): Promise<unknown> {
    promise.then(
      (value) => this.settle(true, value),
      (value: unknown) => this.settle(false, value),
    );

    return promise;
  }

  /** The earliest of whoever has given it up, by what they said. */
  get reasons(): readonly unknown[] {
    const { caller, outer, follows } = this.owner;
    const left = caller?.controller.signal.aborted === true ? [caller.reason] : [];
    const cut = [outer, follows].filter((one): one is AttemptRecord => one?.state === 'cut');

    return [...left, ...cut.map(({ reason }) => reason)];
  }

  /** After each turn; `isOver` when all that is due has happened. */
  check(isOver: boolean): void {
    if (this.isChecked || !isOver) return;
    if (this.settled === undefined) return this.checkPending();

    this.isChecked = true;
    for (const run of this.runs) this.checkRun(run);
    if (this.isCall) this.checkCall(this.runs[0]);
    const { leftFor, settled } = this;
    const isLeft = leftFor === undefined || (!settled.ok && settled.value === leftFor);
    this.watch.require(
      isLeft,
      'first-reason',
      `${this.owner.id} ends with ${show(settled.value)}, not for ${show(leftFor)}`,
    );
  }

  private checkPending(): void {
    const [reason] = this.reasons;
    const { id } = this.owner;
    this.watch.require(this.reasons.length === 0, 'leaves-at-once', `${id} hangs although ${show(reason)}`);
    const isOver = this.isCall && this.runs[0]?.isOver === true;
    this.watch.require(!isOver, 'outcome-passes', `${id} does not tell of its end`);
  }

  private settle(ok: boolean, value: unknown): void {
    this.settled = { ok, value };
  }

  private checkCall(run: Run | undefined): void {
    const { ok, value } = this.settled as { ok: boolean; value: unknown };
    const { id } = this.owner;
    if (run === undefined) {
      this.watch.require(
        !ok && this.reasons.includes(value),
        'first-reason',
        `${id} never began, and ends with ${show(value)}`,
      );
      return;
    }
    const isSame = run.outcome !== undefined && run.outcome.ok === ok && run.outcome.value === value;
    this.watch.require(
      isSame,
      'outcome-passes',
      `${id} ends with ${show(value)} instead of ${show(run.outcome?.value)}`,
    );
  }

  private checkRun(run: Run): void {
    const { outcome } = run;
    this.watch.require(outcome !== undefined, 'leaves-at-once', `${this.owner.id} leaves a run behind`);
    if (outcome?.cutting !== true) return;

    const { outer } = this.owner;
    if (outer?.state === 'cut' && outer.reason === outcome.value) this.watch.reach('aborted by the call around');
    // In the midst of being cut by a limit, that comes first.
    const isFirst =
      this.reasons.includes(outcome.value) || (this.reasons.length > 0 && limitIn(outcome.value) !== undefined);
    const isOfAnswer =
      this.kind === 'answer' &&
      (limitIn(outcome.value) !== undefined || shapeOf(outcome.value).code === 'SIBLING_FAILED');
    this.watch.require(
      isFirst || isOfAnswer,
      'first-reason',
      `${this.owner.id} was given up for ${show(outcome.value)}, not for ${show(this.reasons[0])}`,
    );
  }
}

/** The callers of a scenario. One that has left stays gone until it is asked to leave again. */
export class Callers {
  readonly all: Caller[] = [];
  private readonly present: Caller[] = [];

  constructor(
    private readonly newController: () => AbortController,
    private readonly watchListeners: (signal: AbortSignal) => () => number,
  ) {}

  get(number: number): Caller {
    return (this.present[number] ??= this.create());
  }

  /** A caller leaves; who has left already comes back as somebody else. `undefined` when nobody left. */
  leave(number: number): Caller | undefined {
    const caller = this.get(number);
    if (caller.controller.signal.aborted) {
      this.present[number] = this.create();
      return undefined;
    }

    caller.reason = new Error(`caller ${number} has left`);
    caller.controller.abort(caller.reason);
    return caller;
  }

  private create(): Caller {
    const controller = this.newController();
    const caller = { controller, listeners: this.watchListeners(controller.signal), reason: undefined };
    this.all.push(caller);

    return caller;
  }
}

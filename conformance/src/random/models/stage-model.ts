import type { InvariantId } from '../invariants.js';
import type { Outcome, Run } from '../run.js';
import { shapeOf, show, type Watch } from '../watch.js';

/** An event of the engine, as far as models look at it. */
export interface Told {
  readonly type: string;
  readonly source?: string | undefined;
  readonly attempt?: number;
  readonly delayMs?: number;
  readonly error?: unknown;
  readonly to?: string;
  readonly reason?: string;
}

/** What every model is given. */
export interface Place {
  readonly watch: Watch;
  readonly name: string;
}

/**
 * What one policy has to do, told again plainly, from what passes its outer and its inner side. A frame is what it
 * remembers of one call.
 */
export abstract class StageModel<Frame extends object = object> {
  /** The call that its policy deals with right now, for callbacks that are not told. */
  current: Run | undefined = undefined;
  protected readonly frames = new Map<Run, Frame>();

  readonly watch: Watch;
  /** The policy's. */
  readonly name: string;

  constructor({ watch, name }: Place) {
    this.watch = watch;
    this.name = name;
  }

  /** A call comes from outside. */
  enter(run: Run): void {
    this.current = run;
    this.frames.set(run, this.begin(run));
  }

  /** It goes on inwards. */
  abstract goIn(run: Run): void;

  /** It comes back from inside. */
  comeBack(run: Run, outcome: Outcome): void {
    this.current = run;
    const frame = this.frames.get(run);
    if (frame !== undefined) this.onBack(run, frame, outcome);
  }

  /** It leaves outwards. */
  leave(run: Run, outcome: Outcome): void {
    const frame = this.frames.get(run);
    this.frames.delete(run);
    if (frame === undefined) return;
    if (outcome.cutting) this.onCut(run, frame);
    else this.onLeave(run, frame, outcome);
  }

  onEvent(_event: Told): void {}

  /** After each turn of the event loop; `isOver` when all that is due has happened. */
  check(_isOver: boolean): void {}

  protected abstract begin(run: Run): Frame;
  protected abstract onBack(run: Run, frame: Frame, outcome: Outcome): void;
  protected abstract onLeave(run: Run, frame: Frame, outcome: Outcome): void;
  /** The call is given up from further outside. */
  protected onCut(_run: Run, _frame: Frame): void {}

  protected require(holds: boolean, invariant: InvariantId, what: string): void {
    this.watch.require(holds, invariant, `${this.name}: ${what}`);
  }

  /** An error that the policy makes names it. */
  protected requireOwn(error: unknown): void {
    const { policy } = shapeOf(error);
    this.require(policy === this.name, 'reasons-apart', `ends a call in the name of ${String(policy)}`);
  }

  protected requirePassed(given: Outcome | undefined, outcome: Outcome): void {
    const passed = given !== undefined && given.ok === outcome.ok && given.value === outcome.value;
    this.require(passed, 'outcome-passes', `made ${show(outcome.value)} of ${show(given?.value)}`);
  }
}

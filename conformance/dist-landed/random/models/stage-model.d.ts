import type { InvariantId } from '../invariants.js';
import type { Outcome, Run } from '../run.js';
import { type Watch } from '../watch.js';
/** An event of the engine, as far as models look at it. */
export interface Told {
    readonly type: string;
    readonly source?: string | undefined;
    readonly attempt?: number;
    readonly delayMs?: number;
    readonly error?: unknown;
    readonly to?: string;
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
export declare abstract class StageModel<Frame extends object = object> {
    /** The call that its policy deals with right now, for callbacks that are not told. */
    current: Run | undefined;
    protected readonly frames: Map<Run, Frame>;
    readonly watch: Watch;
    /** The policy's. */
    readonly name: string;
    constructor({ watch, name }: Place);
    /** A call comes from outside. */
    enter(run: Run): void;
    /** It goes on inwards. */
    abstract goIn(run: Run): void;
    /** It comes back from inside. */
    comeBack(run: Run, outcome: Outcome): void;
    /** It leaves outwards. */
    leave(run: Run, outcome: Outcome): void;
    onEvent(_event: Told): void;
    /** After each turn of the event loop; `isOver` when all that is due has happened. */
    check(_isOver: boolean): void;
    protected abstract begin(run: Run): Frame;
    protected abstract onBack(run: Run, frame: Frame, outcome: Outcome): void;
    protected abstract onLeave(run: Run, frame: Frame, outcome: Outcome): void;
    /** The call is given up from further outside. */
    protected onCut(_run: Run, _frame: Frame, _outcome: Outcome): void;
    protected require(holds: boolean, invariant: InvariantId, what: string): void;
    protected requirePassed(given: Outcome | undefined, outcome: Outcome): void;
}
//# sourceMappingURL=stage-model.d.ts.map
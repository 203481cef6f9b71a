import type { BulkheadRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { RefusalCost } from './refusal-cost.js';
import { StageModel, type Place } from './stage-model.js';
interface BulkheadFrame {
    place: 'slot' | 'inside' | 'refused' | 'queue' | 'granted';
    readonly queuedUntil: number;
    readonly cost: RefusalCost;
    /** How many attempts of the call had been given up before it came here. */
    readonly abandonedBefore: number;
    back: Outcome | undefined;
}
interface Counts {
    readonly active: number;
    readonly queued: number;
    readonly abandoned: number;
}
/** Slots, and who waits for one: first come, first served. */
export declare class BulkheadModel extends StageModel<BulkheadFrame> {
    private readonly recipe;
    private readonly counts;
    private active;
    private readonly queue;
    /** Calls that have left work behind which runs on, and may keep their slot. */
    private readonly kept;
    constructor(place: Place, recipe: BulkheadRecipe, counts: Counts);
    goIn(run: Run): void;
    check(isOver: boolean): void;
    protected begin(run: Run): BulkheadFrame;
    protected onBack(_run: Run, frame: BulkheadFrame, outcome: Outcome): void;
    protected onLeave(run: Run, frame: BulkheadFrame, outcome: Outcome): void;
    protected onCut(run: Run, frame: BulkheadFrame): void;
    private requireRefusal;
    private leaveQueue;
    /** A slot stays taken for work that was given up inside, until all of that has ended. */
    private giveBack;
    private giveBackKept;
    private release;
}
export {};
//# sourceMappingURL=bulkhead.d.ts.map
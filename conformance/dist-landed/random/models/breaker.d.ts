import type { BreakerRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { BreakerState } from './breaker-state.js';
import { RefusalCost } from './refusal-cost.js';
import { StageModel, type Place, type Told } from './stage-model.js';
interface BreakerFrame {
    /** This passage of the call, which may come more than once. */
    readonly call: object;
    readonly enteredAt: number;
    readonly waitedBefore: number;
    /** What each state said to the call. */
    readonly answers: ReadonlyMap<BreakerState, number | undefined>;
    readonly cost: RefusalCost;
    isIn: boolean;
    back: Outcome | undefined;
    /** What the outcome says about the dependency. */
    failed: Judgement;
    /** Whether the predicate is asked about it. */
    asks: boolean | 'unknown';
}
interface Stats {
    readonly stats: {
        readonly total: number;
        readonly failures: number;
    };
}
type Judgement = boolean | undefined | 'unknown';
/** A circuit breaker: whom it lets in, what it counts, and what it tells. */
export declare class BreakerModel extends StageModel<BreakerFrame> {
    private readonly recipe;
    private readonly policy;
    /** One, unless it cannot be known what an outcome counted for. */
    private states;
    private readonly told;
    constructor(place: Place, recipe: BreakerRecipe, policy: Stats);
    goIn(run: Run): void;
    onEvent({ type, to }: Told): void;
    check(): void;
    /** Somebody opens or closes it by hand. */
    control(name: 'open' | 'closed'): void;
    protected begin(run: Run): BreakerFrame;
    protected onBack(run: Run, frame: BreakerFrame, outcome: Outcome): void;
    protected onLeave(run: Run, frame: BreakerFrame, outcome: Outcome): void;
    protected onCut(_run: Run, frame: BreakerFrame): void;
    private settle;
    private judge;
    /** What an error counts for that the predicate is asked about; one that throws says nothing in the error's favour. */
    private counts;
    /** Whether the outcome says anything about the dependency, so that the predicate is asked. */
    private asks;
    /** Whoever is cut from outside has to have had half of that limit, without the time in queues. */
    private ranLongEnough;
    private keep;
}
export {};
//# sourceMappingURL=breaker.d.ts.map
import type { RateLimitRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { StageModel, type Place } from './stage-model.js';
interface TurnFrame {
    place: 'free' | 'waits' | 'refused' | 'inside';
    readonly turn: number;
    readonly waitMs: number;
    back: Outcome | undefined;
}
/** Tokens and turns, in whole milliseconds of a bucket that fills by one a millisecond. */
export declare class RateLimitModel extends StageModel<TurnFrame> {
    private readonly recipe;
    private readonly policy;
    private filled;
    private countedAt;
    private lastTurn;
    private waiting;
    /** Turns of calls that have left; the next calls take them over. */
    private freeTurns;
    /** Whether turns came late, so that those after them are only known at least. */
    private isLate;
    constructor(place: Place, recipe: RateLimitRecipe, policy: {
        readonly available: number;
    });
    goIn(run: Run): void;
    check(isOver: boolean): void;
    protected begin(run: Run): TurnFrame;
    protected onBack(_run: Run, frame: TurnFrame, outcome: Outcome): void;
    protected onLeave(run: Run, { place, waitMs, back }: TurnFrame, outcome: Outcome): void;
    protected onCut(run: Run, { place, turn }: TurnFrame): void;
    private requireTurn;
    private endWait;
    private fill;
}
export {};
//# sourceMappingURL=rate-limit.d.ts.map
import type { Predicate, RetryRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { StageModel, type Place, type Told } from './stage-model.js';
/** What a predicate says of an error; that of the default is that the dependency is to blame. */
export declare function says(predicate: Predicate, error: unknown): boolean;
interface RetryFrame {
    failed: number;
    back: Outcome | undefined;
    expects: 'an attempt' | 'the same outcome' | 'an error of its own';
    /** When the next attempt begins. */
    nextAt: number;
    delayMs: number;
}
/** Attempts, one after the other. */
export declare class RetryModel extends StageModel<RetryFrame> {
    private readonly recipe;
    constructor(place: Place, recipe: RetryRecipe);
    goIn(run: Run): void;
    onEvent({ type, source, ...told }: Told): void;
    check(isOver: boolean): void;
    protected begin(run: Run): RetryFrame;
    protected onBack(run: Run, frame: RetryFrame, outcome: Outcome): void;
    protected onLeave(run: Run, { expects, back, failed }: RetryFrame, outcome: Outcome): void;
    protected onCut(_run: Run, frame: RetryFrame): void;
    private expected;
    private delayAfter;
}
/** Whether an outcome is the error that predicates of scenarios throw. */
export declare function isFlaw({ ok, value }: Outcome): boolean;
export declare const FLAW = "an error of the predicate";
export {};
//# sourceMappingURL=retry.d.ts.map
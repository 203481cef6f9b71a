import type { FallbackRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { StageModel, type Place, type Told } from './stage-model.js';
interface FallbackFrame {
    /** The attempt that it stands in. */
    readonly attemptNumber: number;
    back: Outcome | undefined;
    expects: 'the same outcome' | 'an answer' | 'an error of its own';
    answered: number;
    told: number;
}
/** An answer instead of a failure. */
export declare class FallbackModel extends StageModel<FallbackFrame> {
    private readonly recipe;
    constructor(place: Place, recipe: FallbackRecipe);
    goIn(): void;
    /** Its handler is called. */
    onHandler(error: unknown): Run | undefined;
    onEvent({ type, source, error }: Told): void;
    protected begin(run: Run): FallbackFrame;
    protected onBack(run: Run, frame: FallbackFrame, outcome: Outcome): void;
    protected onLeave(run: Run, frame: FallbackFrame, outcome: Outcome): void;
}
export {};
//# sourceMappingURL=fallback.d.ts.map
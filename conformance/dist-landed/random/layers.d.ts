import type { Engine, Execution } from './engine.js';
import type { StageModel } from './models/stage-model.js';
import type { Outcome, Run } from './run.js';
import { type Watch } from './watch.js';
/**
 * Looks at what passes between the stages of a stack: a layer of glass stands outside of the first stage, between any
 * two, and inside of the last. Each stage then has a model of its own that is told what comes in on one side and goes
 * out on the other, and no model has to know what the others do.
 */
export declare class Layers {
    private readonly watch;
    private readonly newRun;
    /** The run whose work begins next. */
    arriving: Run | undefined;
    private readonly runs;
    constructor(watch: Watch, newRun: (execution: Execution) => Run | undefined);
    /** Policies and models, in their order, under one policy with glass between them. */
    policyOf(engine: Engine, stages: readonly LayeredStage[]): LayeredPolicy[];
    onEnter(pane: Pane, execution: Execution): void;
    onLeave(pane: Pane, execution: Execution, outcome: Outcome): void;
    private begin;
    private settleAttempt;
}
export type LayeredPolicy = InstanceType<Engine['ResiliencePolicy']>;
export interface LayeredStage {
    readonly model: StageModel;
    /** `undefined` at the place where the budget of one call goes. */
    readonly policy: LayeredPolicy | undefined;
}
interface Pane {
    readonly layers: Layers;
    readonly models: readonly StageModel[];
    readonly at: number;
    readonly isAround: boolean;
}
export {};
//# sourceMappingURL=layers.d.ts.map
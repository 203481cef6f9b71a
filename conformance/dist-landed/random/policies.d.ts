import type { Builder } from './build.js';
import type { Engine } from './engine.js';
import type { LayeredPolicy, Layers } from './layers.js';
import type { Told } from './models/stage-model.js';
import type { Scenario } from './scenario.js';
import type { Watch } from './watch.js';
/** What policies are put together with. */
export interface Means {
    readonly engine: Engine;
    readonly watch: Watch;
    readonly layers: Layers;
    readonly builder: Builder;
}
/** What calls are made under. */
export interface Stack {
    readonly policy: LayeredPolicy;
    /** Whether an attempt inside has a limit in time. */
    readonly limits: boolean;
}
/** All policies of a scenario, with their models, and the stacks that they are put into. */
export declare class Policies {
    private readonly means;
    private readonly scenario;
    /** How many listeners stand on policies. */
    subscribers: number;
    private readonly stages;
    private readonly models;
    private readonly stacks;
    constructor(means: Means, scenario: Scenario);
    stack(at: number): Stack;
    /** What lets a section pass that has no policy, and looks at it. */
    noneAtAll(): LayeredPolicy;
    onEvent(event: Told & {
        readonly policy: string;
    }): void;
    /** Runs what may make policies deal with other calls in the midst of one. */
    keepingCurrent(run: () => void): void;
    check(isOver: boolean): void;
    /** Opens a breaker by hand, or closes it. */
    control(how: 'trip' | 'reset', at: number): void;
    /** All that can be seen of them. */
    snapshot(): string;
    /** Slots that are taken, and places in queues. */
    get held(): number;
    private build;
    private wrap;
    private subscribe;
}
//# sourceMappingURL=policies.d.ts.map
import type { Engine } from './engine.js';
import type { LayeredPolicy, LayeredStage } from './layers.js';
import { FallbackModel } from './models/fallback.js';
import type { FallbackRecipe, PolicyRecipe } from './scenario.js';
import type { Watch } from './watch.js';
/** What fallbacks answer with. */
export type Handler = (model: FallbackModel, recipe: FallbackRecipe, given: HandlerGiven) => unknown;
export interface HandlerGiven {
    readonly error: unknown;
    readonly context: {
        readonly signal: AbortSignal;
        readonly attempt: number;
    };
}
export type Breaker = InstanceType<Engine['CircuitBreakerPolicy']>;
export type RateLimit = InstanceType<Engine['OutboundRateLimitPolicy']>;
export type Bulkhead = InstanceType<Engine['BulkheadPolicy']>;
/** Makes policies of recipes, each with its model and with callbacks that are watched. */
export declare class Builder {
    private readonly engine;
    private readonly watch;
    private readonly handler;
    /** Objects of options that policies were made of, and what they were. */
    readonly given: {
        readonly options: object;
        readonly before: string;
    }[];
    constructor(engine: Engine, watch: Watch, handler: Handler);
    build(recipe: PolicyRecipe, at: number): LayeredStage & {
        readonly policy: LayeredPolicy;
    };
    private retry;
    private timeout;
    private breaker;
    private fallback;
    private predicate;
    /** Somebody may leave inside of any callback, and make the policy deal with other calls. */
    private call;
    private options;
}
//# sourceMappingURL=build.d.ts.map
import type { World } from './world.js';
type Holdfast = typeof import('holdfast');
/** What a scenario is played with; a planted fault is another one of these. */
export type Engine = Pick<Holdfast, 'ResiliencePolicy' | 'RetryPolicy' | 'TimeoutPolicy' | 'BudgetPolicy' | 'CircuitBreakerPolicy' | 'BulkheadPolicy' | 'OutboundRateLimitPolicy' | 'FallbackPolicy' | 'createPolicy' | 'adaptive' | 'fanOut' | 'collect' | 'required' | 'optional' | 'subscribe'>;
/** One call on its way through the stages, as these see it. */
export type Execution = Parameters<InstanceType<Holdfast['RetryPolicy']>['leave']>[0];
/**
 * Loads the engine inside of the world. It keeps what `Date` and `performance` are when it is loaded, and goes by the
 * monotonic clock as long as they are; loaded outside it would take the world's for fake timers, and go by `Date`.
 */
export declare function loadEngine(world: World): Promise<Engine>;
export {};
//# sourceMappingURL=engine.d.ts.map
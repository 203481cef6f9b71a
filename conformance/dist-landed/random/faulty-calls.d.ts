import type { Engine } from './engine.js';
type Policy = InstanceType<Engine['ResiliencePolicy']>;
export type Attempt = Parameters<Parameters<Policy['execute']>[0]>[0];
export type Options = NonNullable<Parameters<Policy['execute']>[1]>;
type Work = (attempt: Attempt) => unknown;
/** A call of `execute()`, and how it is made rightly. */
export interface FaultyCall {
    readonly work: Work;
    readonly options: Options;
    readonly run: (work: Work, options: Options) => Promise<unknown>;
}
/** The engine with another `execute()`, of all that is put together with `wrap()`. */
export declare function executing(engine: Engine, execute: (call: FaultyCall) => Promise<unknown>): Engine;
export {};
//# sourceMappingURL=faulty-calls.d.ts.map
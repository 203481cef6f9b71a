import type { Builder } from './build.js';
import { Started } from './calls.js';
import type { Engine } from './engine.js';
import { type Caller } from './run.js';
import type { PlainCallStep, Scenario } from './scenario.js';
import { type Watch } from './watch.js';
import type { Works } from './works.js';
/** What plain calls are made with. */
export interface PlainMeans {
    readonly engine: Engine;
    readonly watch: Watch;
    readonly builder: Builder;
    readonly works: Works;
}
/**
 * Calls under `createPolicy()`. No glass stands between its stages, as in an application, so that less is known: that
 * such a call settles once, at once for a caller who leaves, and what it may run.
 */
export declare class PlainCalls {
    private readonly means;
    private readonly policy;
    private readonly bulkhead;
    private readonly attempts;
    private readonly mostAttempts;
    private readonly mostAtOnce;
    constructor(means: PlainMeans, { stages }: Scenario);
    /** Slots that are taken, and places in its queue. */
    get held(): number;
    call(step: PlainCallStep, id: string, caller: Caller | undefined): Started;
    private begin;
    private runOf;
    private require;
}
//# sourceMappingURL=plain-calls.d.ts.map
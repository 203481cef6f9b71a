import type { Adapter, Feature } from './adapter.js';
import type { VirtualClock } from './virtual-clock.js';
export type PolicyName = 'retry' | 'timeout' | 'breaker' | 'bulkhead' | 'rate limit' | 'budget' | 'fallback' | 'wrap';
/** What a scenario runs with. */
export interface Stage {
    /** With every feature that the scenario needs. */
    readonly library: Required<Adapter>;
    readonly clock: VirtualClock;
}
/** One promise that a library keeps or breaks, and the sequence which shows it. */
export interface Guarantee {
    /** Stable, in kebab case. */
    readonly id: string;
    readonly policy: PolicyName;
    /** What holds, in one sentence. */
    readonly sentence: string;
    /** Where it was seen broken: a project, and in a few words what happened. */
    readonly seen: string;
    readonly needs: readonly Feature[];
    /** Throws an `AssertionError` where it does not hold. */
    readonly check: (stage: Stage) => Promise<void>;
    /** Our own library, right but for this guarantee: the scenario must fail it. */
    readonly mutant: (ours: Required<Adapter>) => Adapter;
}
export declare function guarantee(given: Guarantee): Guarantee;
//# sourceMappingURL=guarantee.d.ts.map
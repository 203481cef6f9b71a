import { ResiliencePolicy, type BackoffFunction } from 'holdfast';
import type { Adapter, Policy, RetrySpec } from '../adapter.js';
/** A policy of ours, found again when policies are wrapped. */
export declare class OwnPolicy<P extends ResiliencePolicy> implements Policy {
    readonly policy: P;
    constructor(policy: P);
    run<T>(work: Parameters<Policy['run']>[0], signal?: AbortSignal): Promise<T>;
}
/** @param backoff In place of the one that is asked for. */
export declare function retry(spec: RetrySpec, backoff?: BackoffFunction): Policy;
export declare const holdfast: Required<Adapter>;
//# sourceMappingURL=holdfast.d.ts.map
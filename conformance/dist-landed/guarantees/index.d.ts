import type { Guarantee } from '../guarantee.js';
/** By the file in which their scenarios are, by policy. */
export declare const BY_FILE: {
    readonly retry: readonly Guarantee[];
    readonly 'retry-waits': readonly Guarantee[];
    readonly 'retry-aborts': readonly Guarantee[];
    readonly timeout: readonly Guarantee[];
    readonly 'timeout-aborts': readonly Guarantee[];
    readonly 'breaker-counting': readonly Guarantee[];
    readonly 'breaker-opening': readonly Guarantee[];
    readonly 'breaker-half-open': readonly Guarantee[];
    readonly 'bulkhead-slots': readonly Guarantee[];
    readonly 'bulkhead-queue': readonly Guarantee[];
    readonly 'rate-limit': readonly Guarantee[];
    readonly budget: readonly Guarantee[];
    readonly fallback: readonly Guarantee[];
    readonly wrap: readonly Guarantee[];
    readonly 'wrap-slots': readonly Guarantee[];
};
/** All of them, by policy. */
export declare const GUARANTEES: readonly Guarantee[];
//# sourceMappingURL=index.d.ts.map
import { type Guarantee } from '../guarantee.js';
/** What a circuit breaker does in its half-open period. */
export declare const BREAKER_HALF_OPEN: readonly Guarantee[];
//# sourceMappingURL=breaker-half-open.d.ts.map
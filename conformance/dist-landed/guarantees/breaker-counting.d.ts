import { type Guarantee } from '../guarantee.js';
/** What a circuit breaker counts, and for how long. */
export declare const BREAKER_COUNTING: readonly Guarantee[];
//# sourceMappingURL=breaker-counting.d.ts.map
import { type Guarantee } from '../guarantee.js';
/** What a circuit breaker does when it opens, while it is open, and for whom. */
export declare const BREAKER_OPENING: readonly Guarantee[];
//# sourceMappingURL=breaker-opening.d.ts.map
import { type Guarantee } from '../guarantee.js';
/** What a retry makes of a caller that gives up. */
export declare const RETRY_ABORTS: readonly Guarantee[];
//# sourceMappingURL=retry-aborts.d.ts.map
import { type Guarantee } from '../guarantee.js';
/** How long a retry waits between attempts. */
export declare const RETRY_WAITS: readonly Guarantee[];
//# sourceMappingURL=retry-waits.d.ts.map
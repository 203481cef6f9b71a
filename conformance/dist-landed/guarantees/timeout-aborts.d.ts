import { type Guarantee } from '../guarantee.js';
/** What a timeout does with signals: the caller's, and the one that it hands to the work. */
export declare const TIMEOUT_ABORTS: readonly Guarantee[];
//# sourceMappingURL=timeout-aborts.d.ts.map
import { type Guarantee } from '../guarantee.js';
/** How many bodies a bulkhead lets run, and when it gives their slots back. */
export declare const BULKHEAD_SLOTS: readonly Guarantee[];
//# sourceMappingURL=bulkhead-slots.d.ts.map
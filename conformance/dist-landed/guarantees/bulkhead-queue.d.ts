import { type Guarantee } from '../guarantee.js';
/** Who waits for a slot of a bulkhead, in which order, and who no longer does. */
export declare const BULKHEAD_QUEUE: readonly Guarantee[];
//# sourceMappingURL=bulkhead-queue.d.ts.map
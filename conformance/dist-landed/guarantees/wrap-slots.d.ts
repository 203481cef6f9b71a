import { type Guarantee } from '../guarantee.js';
/** What policies that keep state, and callers that do, are to those around them. */
export declare const WRAP_SLOTS: readonly Guarantee[];
//# sourceMappingURL=wrap-slots.d.ts.map
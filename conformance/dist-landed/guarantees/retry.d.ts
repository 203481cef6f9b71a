import { type Guarantee } from '../guarantee.js';
/** How often one policy runs its work, and whether a retry is decided on, as its settings say. */
export declare const RETRY: readonly Guarantee[];
//# sourceMappingURL=retry.d.ts.map
import { type Guarantee } from '../guarantee.js';
/** One limit over everything that a call does. */
export declare const BUDGET: readonly Guarantee[];
//# sourceMappingURL=budget.d.ts.map
import { type Guarantee } from '../guarantee.js';
/** What policies are to each other. */
export declare const WRAP: readonly Guarantee[];
//# sourceMappingURL=wrap.d.ts.map
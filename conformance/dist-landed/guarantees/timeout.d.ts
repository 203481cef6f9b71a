import { type Guarantee } from '../guarantee.js';
/** How long a call lasts. */
export declare const TIMEOUT: readonly Guarantee[];
//# sourceMappingURL=timeout.d.ts.map
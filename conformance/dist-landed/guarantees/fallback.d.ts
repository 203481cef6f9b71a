import { type Guarantee } from '../guarantee.js';
export declare const FALLBACK: readonly Guarantee[];
//# sourceMappingURL=fallback.d.ts.map
import { type Guarantee } from '../guarantee.js';
export declare const RATE_LIMIT: readonly Guarantee[];
//# sourceMappingURL=rate-limit.d.ts.map
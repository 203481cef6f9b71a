import type { Policy } from '../adapter.js';
/** Policies as functions that call each other, the first one outermost: each is the work of the one around it. */
export declare function nested(policies: readonly Policy[]): Policy;
//# sourceMappingURL=nested.d.ts.map
import { type Adapter } from './adapter.js';
import type { Guarantee } from './guarantee.js';
export type Verdict = {
    readonly kind: 'holds';
} | {
    readonly kind: 'fails';
    readonly because: string;
} | {
    readonly kind: 'not offered';
    readonly because: string;
};
/** Runs one scenario against one library, with a clock, and an eye on the process, of its own. */
export declare function verdictOf(guarantee: Guarantee, adapter: Adapter): Promise<Verdict>;
//# sourceMappingURL=verdict.d.ts.map
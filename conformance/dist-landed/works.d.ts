import type { BreakerPolicy, BreakerSpec, Policy, Work } from './adapter.js';
import type { Stage } from './guarantee.js';
import type { VirtualClock } from './virtual-clock.js';
/** Work that scenarios share. */
export declare const fine: () => Promise<string>;
export declare const failing: () => Promise<never>;
export declare const hanging: () => Promise<never>;
/** Work that hangs until the signal of its attempt aborts, or that of its caller where it is given none. */
export declare function cooperative(callers: AbortSignal): Work<never>;
/** Work that fails at once so many times, and is done from then on. */
export declare class Unreliable {
    /** What it threw, in order. */
    readonly errors: Error[];
    /** When each attempt began. */
    readonly startedAt: number[];
    private readonly clock;
    private readonly failures;
    private readonly details;
    /** @param details What each error carries. */
    constructor(clock: VirtualClock, failures?: number, details?: object);
    get calls(): number;
    readonly work: () => Promise<string>;
}
/** Calls that fail, one after the other. */
export declare function fail(policy: Policy, times: number): Promise<void>;
export declare function succeed(policy: Policy, times: number): Promise<void>;
/** Opens at the fourth call when half of them have failed, for a second; then one probe decides. */
export declare const BREAKER: BreakerSpec;
/** A breaker that has just opened. */
export declare function opened({ library }: Stage, spec?: Partial<BreakerSpec>): Promise<BreakerPolicy>;
/** A breaker whose time is just over. */
export declare function reopenable(stage: Stage, spec?: Partial<BreakerSpec>): Promise<BreakerPolicy>;
//# sourceMappingURL=works.d.ts.map
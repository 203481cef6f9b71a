import type { Adapter, Policy, RateLimitSpec, Work } from '../adapter.js';
/** A rate limit by a log of starts, as a textbook has it. Mutants of it are wrong in one method. */
export declare class TextbookRateLimit implements Policy {
    protected readonly spec: RateLimitSpec;
    /** When calls started, or will start, in order. */
    protected readonly starts: number[];
    constructor(spec: RateLimitSpec);
    run<T>(work: Work<T>, signal?: AbortSignal): Promise<T>;
    /** At most `limit` calls start in any interval. */
    protected nextStart(): number;
    protected refuse(waitMs: number): Promise<void>;
    protected wait(start: number, signal: AbortSignal | undefined): Promise<void>;
    protected giveBack(start: number): void;
}
/** Our own library with another rate limit. */
export declare function withRateLimit(RateLimit: typeof TextbookRateLimit): (ours: Required<Adapter>) => Required<Adapter>;
//# sourceMappingURL=rate-limit.d.ts.map
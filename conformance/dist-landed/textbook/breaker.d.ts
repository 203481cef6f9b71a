import type { Adapter, BreakerPolicy, BreakerSpec, Work } from '../adapter.js';
/** A stretch of time between two changes of state. */
export type Era = {
    readonly state: 'closed';
} | {
    readonly state: 'open';
    readonly until: number;
} | {
    readonly state: 'half-open';
    /** Places taken, by probes that run and by those that have decided. */
    places: number;
    good: number;
    failed: number;
};
export interface Call {
    readonly era: Era;
    readonly startedAt: number;
}
/** Calls that ended in one millisecond; in a window of calls, one of them. */
export interface Entry {
    readonly at: number;
    calls: number;
    failed: number;
    slow: number;
}
export type Outcome = 'good' | 'failed' | 'ignored';
type Listener = Parameters<BreakerPolicy['onState']>[0];
/**
 * A circuit breaker as a textbook has it: right, and slow. Mutants of it are wrong in one method, so that each
 * scenario is known to pass with another implementation than ours, and to fail for its own reason.
 */
export declare class TextbookBreaker implements BreakerPolicy {
    protected readonly spec: BreakerSpec;
    protected readonly ours: Required<Adapter>;
    protected era: Era;
    protected entries: Entry[];
    protected readonly inFlight: Set<Call>;
    private readonly listeners;
    constructor(spec: BreakerSpec, ours: Required<Adapter>);
    state(): Era['state'];
    onState(listener: Listener): void;
    callsInWindow(): number;
    run<T>(work: Work<T>, signal?: AbortSignal): Promise<T>;
    protected attempt<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T>;
    protected admit(): Call;
    protected refuse(waitMs: number): never;
    protected takePlace(era: Era & {
        state: 'half-open';
    }): boolean;
    /** An error inside of the filter counts, so that no place stays taken. */
    protected leaveFailed(call: Call, error: unknown, signal: AbortSignal | undefined): void;
    protected judge(error: unknown, signal: AbortSignal | undefined): Outcome;
    protected isCancelled(error: unknown, signal: AbortSignal | undefined): boolean;
    protected isRefusal(error: unknown): boolean;
    protected leave(call: Call, outcome: Outcome): void;
    /** Outcomes of an earlier era change nothing. */
    protected isCurrent(call: Call): boolean;
    protected settleProbe(era: Era & {
        state: 'half-open';
    }, outcome: Outcome): void;
    protected record({ startedAt }: Call, outcome: Outcome): void;
    private entryOf;
    protected checkRates(): void;
    protected isEnough(calls: number): boolean;
    /** Calls in flight that are slow already. */
    protected lagging(): number;
    /** What the window holds now. */
    protected recent(): readonly Entry[];
    protected catchUp(): void;
    protected open(): void;
    protected close(): void;
    protected change(era: Era): void;
}
/** Our own library with another breaker. */
export declare function withBreaker(Breaker: typeof TextbookBreaker): (ours: Required<Adapter>) => Required<Adapter>;
export {};
//# sourceMappingURL=breaker.d.ts.map
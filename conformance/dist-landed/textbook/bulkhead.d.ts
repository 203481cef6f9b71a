import type { Adapter, BulkheadPolicy, BulkheadSpec, Work } from '../adapter.js';
export interface Waiter {
    readonly grant: () => void;
}
/** A bulkhead as a textbook has it. Mutants of it are wrong in one method. */
export declare class TextbookBulkhead implements BulkheadPolicy {
    protected readonly spec: BulkheadSpec;
    protected taken: number;
    protected readonly line: Set<Waiter>;
    constructor(spec: BulkheadSpec);
    running(): number;
    waiting(): number;
    run<T>(work: Work<T>, signal?: AbortSignal): Promise<T>;
    /** An abort that has already happened is told by no event. */
    protected lookAt(signal: AbortSignal | undefined): void;
    protected isFree(): boolean;
    protected isFull(): boolean;
    /** Resolves once this call has a slot. */
    protected turn(signal: AbortSignal | undefined): Promise<void>;
    /** A waiter that is aborted leaves the line; one that had been granted by then gives its slot back. */
    protected giveUp(waiter: Waiter): void;
    /** The slot is taken until the work has ended, whoever waits for it by then. */
    protected runWithSlot<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T>;
    /** Gives a slot to the next in line, or back. */
    protected release(): void;
    protected next(): Waiter | undefined;
}
/** Our own library with another bulkhead. */
export declare function withBulkhead(Bulkhead: typeof TextbookBulkhead): (ours: Required<Adapter>) => Required<Adapter>;
//# sourceMappingURL=bulkhead.d.ts.map
/** A call while it runs: what became of it can be looked at without waiting for it. */
export interface Observed<T> {
    readonly state: 'pending' | 'fulfilled' | 'rejected';
    readonly value: T | undefined;
    readonly error: unknown;
}
/** Its rejection is handled. */
export declare function observe<T>(promise: Promise<T>): Observed<T>;
/** Work that ends when, and how, a scenario says. */
export declare class Manual<T = unknown> {
    calls: number;
    readonly signals: (AbortSignal | undefined)[];
    private readonly ends;
    readonly work: ({ signal }: {
        readonly signal?: AbortSignal | undefined;
    }) => Promise<T>;
    /** @param call From 0. */
    resolve(call: number, value: T): void;
    reject(call: number, error: unknown): void;
}
/** The abort listeners that hang on a signal, as far as they were added from here on. Node does not warn of them then. */
export declare function watchListeners(signal: AbortSignal): () => number;
//# sourceMappingURL=observed.d.ts.map
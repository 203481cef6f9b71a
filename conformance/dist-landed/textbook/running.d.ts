import type { Work } from '../adapter.js';
/** Starts work; what it throws at once is a rejection like any other. */
export declare function started<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T>;
/** Settles as `promise` does, unless `signal` aborts first: then with its reason, and `onAbort` is called. */
export declare function untilAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined, onAbort?: () => void): Promise<T>;
//# sourceMappingURL=running.d.ts.map
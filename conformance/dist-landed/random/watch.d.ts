import type { InvariantId, Violation } from './invariants.js';
import type { State } from './coverage.js';
import type { World } from './world.js';
/** Whether a limit's error counts against a breaker, where that is known. */
export type Blame = 'counts' | 'does not count' | 'unknown';
/** What all models of one execution share: time, what was found, and what was reached. */
export declare class Watch {
    readonly world: World;
    readonly violations: Violation[];
    readonly reached: Set<"open" | "half-open" | "closed again" | "queue full" | "queue timeout" | "granted from the queue" | "deadline expired" | "refused without time" | "timed out" | "abandoned" | "retried" | "aborted while it waits" | "aborted in a queue" | "aborted in a callback" | "aborted by the call around" | "token wait" | "rate limited" | "probe lease lost" | "fallback used" | "own error of a predicate" | "section degraded" | "section skipped" | "section required and failed" | "nested" | "clock stepped" | "late timer" | "late outcome dropped">;
    /** Runs in each callback that a user could have written, and each listener. */
    inCallback: () => void;
    /** How late the timers were that ended something with an error, in milliseconds. */
    readonly lateness: WeakMap<object, number>;
    private readonly blames;
    private readonly startedAt;
    constructor(world: World);
    get now(): number;
    reach(state: State): void;
    require(holds: boolean, invariant: InvariantId, what: string): void;
    blame(error: unknown, blame: Blame): void;
    blameOf(error: unknown): Blame;
}
interface ErrorShape {
    readonly code?: unknown;
    readonly name?: unknown;
    readonly status?: unknown;
    readonly cause?: unknown;
    readonly policy?: unknown;
    readonly timeoutMs?: number;
    readonly budgetMs?: number;
    readonly retryAfterMs?: number;
    readonly reason?: unknown;
}
/** What stands on an error; nothing on other values. */
export declare function shapeOf(error: unknown): ErrorShape;
export declare function isRefusal(error: unknown): boolean;
/** The error of a limit, also behind the form in which sections pass it on. */
export declare function limitIn(error: unknown): ErrorShape | undefined;
export declare function show(value: unknown): string;
export {};
//# sourceMappingURL=watch.d.ts.map
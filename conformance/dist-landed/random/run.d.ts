import type { Watch } from './watch.js';
/** A deadline as the models know it. */
export interface DeadlineModel {
    readonly expiresAt: number;
    readonly budgetMs: number;
    /** Nothing is started with less left. */
    readonly leastMs: number;
}
/** Somebody who makes calls with a signal. */
export interface Caller {
    readonly controller: AbortController;
    /** How many listeners stand on its signal. */
    readonly listeners: () => number;
    reason: unknown;
}
export interface Outcome {
    readonly ok: boolean;
    readonly value: unknown;
    /** Whether the call is being given up from further outside. */
    readonly cutting: boolean;
}
/** What the engine gives to work. */
export interface AttemptContext {
    readonly signal: AbortSignal;
    readonly attempt: number;
    readonly deadline?: {
        remaining(): number;
    } | undefined;
}
/** One run of somebody's work, or of a fallback's handler. */
export declare class AttemptRecord {
    readonly run: Run;
    readonly context: AttemptContext;
    state: 'running' | 'settled' | 'cut';
    reason: unknown;
    cutAt: number | undefined;
    /** Whether what the work returned is still pending. */
    works: boolean;
    signal: AbortSignal | undefined;
    private inside;
    private waiting;
    constructor(run: Run, context: AttemptContext);
    /** The innermost attempt from here on outwards that has not ended; `undefined` when all have. */
    get living(): AttemptRecord | undefined;
    /** What a call inherits that is started inside. */
    get inherited(): AttemptRecord | undefined;
    get allWait(): boolean;
    /** Calls inside begin or end, or begin or stop to wait: time counts as waiting while all of them wait. */
    count(inside: number, waiting: number): void;
    close(state: 'settled' | 'cut', reason?: unknown): void;
}
/** What a run is made for, as far as its stages ask. */
export interface RunOwner {
    readonly id: string;
    readonly caller: Caller | undefined;
    readonly outer: AttemptRecord | undefined;
    /** The attempt whose signal it was given, if that is it. */
    readonly follows: AttemptRecord | undefined;
    /** The attempt that code inside inherits where its own are not ambient. */
    readonly around: AttemptRecord | undefined;
    /** Whether its own may be. */
    readonly ambient: boolean;
    /** Whether there is anything to inherit from the first of them. */
    readonly isOpened: boolean;
    /** Of this one call. */
    readonly budgetMs: number | undefined;
    /** Whether other runs go by the same name, as the sections of one answer do. */
    readonly sharesId: boolean;
}
/** One call on its way through its stages. */
export declare class Run {
    readonly watch: Watch;
    readonly owner: RunOwner;
    /** The earliest that holds where it is now. */
    deadline: DeadlineModel | undefined;
    /** How many layers it is inside of. */
    depth: number;
    isOver: boolean;
    /** Whether an own error of a predicate is on its way out. */
    isFlawed: boolean;
    attemptNumber: number;
    attempt: AttemptRecord | undefined;
    outcome: Outcome | undefined;
    /** Attempts that were given up. */
    readonly abandoned: AttemptRecord[];
    private waited;
    private waitsSince;
    constructor(watch: Watch, owner: RunOwner, 
    /** The earliest that holds where it is now. */
    deadline: DeadlineModel | undefined);
    /** Whether its caller, or the attempt around, has given it up. */
    get isLeft(): boolean;
    /** Whether too little time is left, after a wait, to start anything. */
    isOutOfTime(waitMs?: number): boolean;
    markWaiting(waits: boolean): void;
    /** How long it has waited in queues so far. */
    get waitedMs(): number;
    /** The outermost layer was left. */
    end(outcome: Outcome): void;
}
//# sourceMappingURL=run.d.ts.map
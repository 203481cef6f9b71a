import type { Caller, Run, RunOwner } from './run.js';
import { type Watch } from './watch.js';
/** Something that a scenario has started and whose promise it looks at: a call, or an answer of sections. */
export declare class Started {
    readonly watch: Watch;
    readonly owner: RunOwner;
    /** Whether what it comes to is what its one run comes to. */
    readonly isCall: boolean;
    settled: {
        readonly ok: boolean;
        readonly value: unknown;
    } | undefined;
    readonly runs: Run[];
    private isChecked;
    constructor(watch: Watch, owner: RunOwner, 
    /** Whether what it comes to is what its one run comes to. */
    isCall: boolean);
    follow(promise: Promise<unknown>): Promise<unknown>;
    /** The earliest of whoever has given it up, by what they said. */
    get reasons(): readonly unknown[];
    /** After each turn; `isOver` when all that is due has happened. */
    check(isOver: boolean): void;
    private checkPending;
    private settle;
    private checkCall;
    private checkRun;
}
/** The callers of a scenario. One that has left stays gone until it is asked to leave again. */
export declare class Callers {
    private readonly newController;
    private readonly watchListeners;
    readonly all: Caller[];
    private readonly present;
    constructor(newController: () => AbortController, watchListeners: (signal: AbortSignal) => () => number);
    get(number: number): Caller;
    /** A caller leaves; who has left already comes back as somebody else. `undefined` when nobody left. */
    leave(number: number): Caller | undefined;
    private create;
}
//# sourceMappingURL=calls.d.ts.map
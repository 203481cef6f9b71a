import type { Draws } from './draws.js';
export declare class World {
    /** Elapsed milliseconds, that no step of the wall clock moves. */
    now: number;
    /** Since the world was made. */
    timersStarted: number;
    controllersMade: number;
    /** What was written to `console.error`. */
    readonly reports: unknown[][];
    /** Called after each turn of the loop, and, with `true`, when all that is due at a moment has happened. */
    onTurn: (isOver: boolean) => void;
    private wallOffset;
    private queue;
    private immediates;
    private latestId;
    private draws;
    private readonly globals;
    private readonly printError;
    constructor();
    /** Timers that wait. */
    get timers(): number;
    /** Whether anything is still to come. */
    get isBusy(): boolean;
    /** One that does not count as made by the engine. */
    newController(): AbortController;
    /** @param timersToo Whether timers are ours as well; loaders of modules need real ones. */
    install(timersToo?: boolean): void;
    uninstall(): void;
    /** Begins another execution, at a moment like that of every other. */
    begin(draws: Draws): void;
    /** Sets the wall clock ahead by so much, or back. */
    stepWallClock(ms: number): void;
    /** Calls back after so many milliseconds, as input does that arrives from outside. */
    arrive(ms: number, run: () => void): void;
    /** Lets time pass, with everything that is due in it. */
    pass(ms: number): Promise<void>;
    /** Holds the event loop: time passes, and what was due in it comes late. */
    stall(ms: number): Promise<void>;
    /** Lets everything happen that is due now: timers, then input, then what waits for input to be handled. */
    walk(): Promise<void>;
    private turn;
    private hasWork;
    /** The runtime walks through timers by their delays: all of one delay that are due, beginning with the earliest. */
    private takeTimer;
    private takeInput;
    private take;
    private enqueue;
    private makeGlobals;
}
//# sourceMappingURL=world.d.ts.map
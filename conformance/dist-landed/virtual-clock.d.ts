/** Time that passes only when a scenario says so. */
export interface VirtualClock {
    /** Milliseconds since the scenario began. */
    readonly now: number;
    /** Lets time pass, with everything that is due in it and what follows from that. */
    tick(ms: number): Promise<void>;
    /** Lets everything run that needs no time. */
    settle(): Promise<void>;
    /** Sets the wall clock ahead by so much, or back, as an administrator does: no time passes. */
    step(ms: number): void;
    /** Timers that wait. */
    readonly timers: number;
}
export declare class InstalledClock implements VirtualClock {
    private readonly clock;
    private startedAt;
    /** How often something was asked of it. */
    moves: number;
    constructor();
    get now(): number;
    get timers(): number;
    tick(ms: number): Promise<void>;
    step(ms: number): void;
    settle(): Promise<void>;
    uninstall(): void;
}
//# sourceMappingURL=virtual-clock.d.ts.map
import type { BreakerRecipe } from '../scenario.js';
/** What a breaker remembers of a call that it has let in. */
export interface Admitted {
    readonly at: number;
    failed: boolean | undefined;
}
type StateName = 'closed' | 'open' | 'half-open';
/** A circuit breaker, told again plainly. Copies of it go on apart where one cannot know what an outcome counts for. */
export declare class BreakerState {
    private readonly recipe;
    name: StateName;
    /** Every state that it has entered. */
    entered: readonly StateName[];
    /** How often a probe was lost. */
    lost: number;
    private outcomes;
    private admitted;
    private openUntil;
    constructor(recipe: BreakerRecipe);
    copy(): BreakerState;
    /** Lets a call in, or says for how many milliseconds it is refused. */
    call(call: object, now: number): number | undefined;
    /** @param failed `undefined` says nothing about the dependency. */
    settle(call: object, failed: boolean | undefined, now: number): void;
    stats(now: number): {
        readonly total: number;
        readonly failures: number;
    };
    /** Begins another era, in which calls of this one count for nothing. */
    enter(name: StateName, now: number): void;
    private look;
    private settleProbe;
    private decide;
    private take;
}
export {};
//# sourceMappingURL=breaker-state.d.ts.map
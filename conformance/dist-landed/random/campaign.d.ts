import { Coverage } from './coverage.js';
import { type Engine } from './engine.js';
import type { Violation } from './invariants.js';
import { type Played } from './play.js';
import type { Scenario } from './scenario.js';
/** A scenario in which something does not hold. */
export interface Failure {
    readonly seed: number | undefined;
    readonly scenario: Scenario;
    readonly violations: readonly Violation[];
}
/** Which executions are played: those of so many seeds, beginning with one. */
export interface Range {
    readonly seed: number;
    readonly executions: number;
}
/** Plays random executions, in a world of their own. The process belongs to it until {@link close}. */
export declare class Campaign {
    private readonly world;
    private readonly engine;
    readonly coverage: Coverage;
    private readonly strays;
    private constructor();
    /** @param change Makes another engine of the right one. */
    static open(change?: (engine: Engine) => Engine): Promise<Campaign>;
    /** The first failure, if there is one. `onExecution` is told how many have been played. */
    run({ seed, executions }: Range, onExecution?: (played: number) => void): Promise<Failure | undefined>;
    /** Plays one scenario. */
    play(scenario: Scenario): Promise<Played>;
    /** The same failure in its shortest form: that of the invariant which failed first. */
    shrink({ seed, scenario, violations }: Failure): Promise<Failure>;
    close(): void;
    private breaks;
}
//# sourceMappingURL=campaign.d.ts.map
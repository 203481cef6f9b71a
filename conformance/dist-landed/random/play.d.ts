import type { Engine } from './engine.js';
import type { Violation } from './invariants.js';
import type { Scenario } from './scenario.js';
import type { State } from './coverage.js';
import type { World } from './world.js';
export interface Played {
    readonly violations: readonly Violation[];
    readonly reached: ReadonlySet<State>;
}
/** What an execution is played with. */
export interface Stage {
    readonly engine: Engine;
    readonly world: World;
    /** What was let out into the process. */
    readonly strays: readonly string[];
}
/** Plays a scenario from its first step until all is over, and holds it against the models after each turn. */
export declare function play(stage: Stage, scenario: Scenario): Promise<Played>;
//# sourceMappingURL=play.d.ts.map
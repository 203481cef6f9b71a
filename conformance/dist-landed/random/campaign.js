import { Strays } from '../strays.js';
import { Coverage } from './coverage.js';
import { loadEngine } from './engine.js';
import { scenarioOf } from './generate.js';
import { play } from './play.js';
import { shrink } from './shrink.js';
import { World } from './world.js';
/** Plays random executions, in a world of their own. The process belongs to it until {@link close}. */
export class Campaign {
    constructor(world, engine) {
        this.world = world;
        this.engine = engine;
        this.coverage = new Coverage();
        this.strays = new Strays();
        world.install();
    }
    /** @param change Makes another engine of the right one. */
    static async open(change = (engine) => engine) {
        const world = new World();
        return new Campaign(world, change(await loadEngine(world)));
    }
    /** The first failure, if there is one. `onExecution` is told how many have been played. */
    async run({ seed, executions }, onExecution) {
        for (let played = 0; played < executions; played++) {
            const scenario = scenarioOf(seed + played);
            const { violations, reached } = await this.play(scenario);
            this.coverage.add(reached);
            if (violations.length > 0)
                return { seed: seed + played, scenario, violations };
            onExecution?.(played + 1);
        }
        return undefined;
    }
    /** Plays one scenario. */
    async play(scenario) {
        this.strays.found.length = 0;
        return play({ engine: this.engine, world: this.world, strays: this.strays.found }, scenario);
    }
    /** The same failure in its shortest form: that of the invariant which failed first. */
    async shrink({ seed, scenario, violations }) {
        const { invariant } = violations[0];
        const shortest = await shrink(scenario, (candidate) => this.breaks(candidate, invariant));
        return { seed, scenario: shortest, violations: (await this.play(shortest)).violations };
    }
    close() {
        this.strays.stop();
        this.world.uninstall();
    }
    async breaks(scenario, invariant) {
        const { violations } = await this.play(scenario);
        return violations.some((violation) => violation.invariant === invariant);
    }
}
//# sourceMappingURL=campaign.js.map
import { Strays } from '../strays.js';
import { Coverage } from './coverage.js';
import { loadEngine, type Engine } from './engine.js';
import { scenarioOf } from './generate.js';
import type { InvariantId, Violation } from './invariants.js';
import { play, type Played } from './play.js';
import type { Scenario } from './scenario.js';
import { shrink } from './shrink.js';
import { World } from './world.js';

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
export class Campaign {
  readonly coverage = new Coverage();
  private readonly strays = new Strays();

  private constructor(
    private readonly world: World,
    private readonly engine: Engine,
  ) {
    world.install();
  }

  /** @param change Makes another engine of the right one. */
  static async open(change: (engine: Engine) => Engine = (engine) => engine): Promise<Campaign> {
    const world = new World();

    return new Campaign(world, change(await loadEngine(world)));
  }

  /** The first failure, if there is one. `onExecution` is told how many have been played. */
  async run({ seed, executions }: Range, onExecution?: (played: number) => void): Promise<Failure | undefined> {
    for (let played = 0; played < executions; played++) {
      const scenario = scenarioOf(seed + played);
      const { violations, reached } = await this.play(scenario);
      this.coverage.add(reached);
      if (violations.length > 0) return { seed: seed + played, scenario, violations };

      onExecution?.(played + 1);
    }

    return undefined;
  }

  /** Plays one scenario. */
  async play(scenario: Scenario): Promise<Played> {
    this.strays.found.length = 0;

    return play({ engine: this.engine, world: this.world, strays: this.strays.found }, scenario);
  }

  /** The same failure in its shortest form: that of the invariant which failed first. */
  async shrink({ seed, scenario, violations }: Failure): Promise<Failure> {
    const { invariant } = violations[0] as Violation;
    const shortest = await shrink(scenario, (candidate) => this.breaks(candidate, invariant));

    const again = (await this.play(shortest)).violations;

    // What came of all that was played before it may not come again.
    return { seed, scenario: shortest, violations: again.length > 0 ? again : violations };
  }

  close(): void {
    this.strays.stop();
    this.world.uninstall();
  }

  private async breaks(scenario: Scenario, invariant: InvariantId): Promise<boolean> {
    const { violations } = await this.play(scenario);

    return violations.some((violation) => violation.invariant === invariant);
  }
}

import type { Breaker, Builder, Bulkhead, RateLimit } from './build.js';
import type { Engine } from './engine.js';
import type { LayeredPolicy, LayeredStage, Layers } from './layers.js';
import { BreakerModel } from './models/breaker.js';
import { BudgetModel } from './models/limits.js';
import type { StageModel, Told } from './models/stage-model.js';
import type { Scenario, StackRecipe } from './scenario.js';
import type { Watch } from './watch.js';

/** What policies are put together with. */
export interface Means {
  readonly engine: Engine;
  readonly watch: Watch;
  readonly layers: Layers;
  readonly builder: Builder;
}

/** What calls are made under. */
export interface Stack {
  readonly policy: LayeredPolicy;
  /** Whether an attempt inside has a limit in time. */
  readonly limits: boolean;
}

/** What is seen of the policies that count something. */
type Counted = Pick<Breaker, 'stats'> & Pick<Bulkhead, 'active' | 'queued'> & Pick<RateLimit, 'available'>;

/** All policies of a scenario, with their models, and the stacks that they are put into. */
export class Policies {
  /** How many listeners stand on policies. */
  subscribers = 0;
  private readonly stages: (LayeredStage & { readonly policy: LayeredPolicy })[];
  private readonly models: StageModel[];
  private readonly stacks: Stack[];

  constructor(
    private readonly means: Means,
    private readonly scenario: Scenario,
  ) {
    this.stages = scenario.policies.map((recipe, at) => means.builder.build(recipe, at));
    this.models = this.stages.map(({ model }) => model);
    this.stacks = scenario.stacks.map((recipe) => this.build(recipe));
    if (scenario.listenersThrow) for (const { policy } of this.stages) this.subscribe(policy);
  }

  stack(at: number): Stack {
    return this.stacks[at] as Stack;
  }

  /** What lets a section pass that has no policy, and looks at it. */
  noneAtAll(): LayeredPolicy {
    return this.wrap(this.means.layers.policyOf(this.means.engine, []));
  }

  onEvent(event: Told & { readonly policy: string }): void {
    const named = this.models.filter(({ name }) => name === event.policy);
    // The budget of one call goes by the name of all its policies.
    const told = named.length > 0 ? named : this.models.filter((model) => model instanceof BudgetModel);
    for (const model of told) model.onEvent(event);
  }

  /** Runs what may make policies deal with other calls in the midst of one. */
  keepingCurrent(run: () => void): void {
    const current = this.models.map((model) => model.current);
    run();
    this.models.forEach((model, at) => (model.current = current[at]));
  }

  check(isOver: boolean): void {
    for (const model of this.models) model.check(isOver);
  }

  /** Opens a breaker by hand, or closes it. */
  control(how: 'trip' | 'reset', at: number): void {
    const { model, policy } = this.stages[at] as LayeredStage;
    if (!(model instanceof BreakerModel)) return;

    model.control(how === 'trip' ? 'open' : 'closed');
    (policy as Breaker)[how]();
  }

  /** All that can be seen of them. */
  snapshot(): string {
    const seen = this.stages.map(({ policy }) => {
      const { stats, active, queued, available } = policy as Partial<Counted>;
      return { stats, active, queued, available };
    });

    return JSON.stringify([seen, this.means.watch.world.timers]);
  }

  /** Slots that are taken, and places in queues. */
  get held(): number {
    return this.stages.reduce((sum, { policy }) => {
      const { active = 0, queued = 0 } = policy as Partial<Counted>;
      return sum + active + queued;
    }, 0);
  }

  private build({ policies, by }: StackRecipe): Stack {
    const { engine, layers, watch } = this.means;
    const kinds = policies.map((place) => this.scenario.policies[place]?.kind);
    const stages: LayeredStage[] = policies.map((place) => this.stages[place] as LayeredStage);
    const place = kinds.findIndex((kind) => kind !== 'fallback');
    const budget = new BudgetModel({ watch, name: 'budget of a call' }, undefined);
    this.models.push(budget);
    stages.splice(place < 0 ? stages.length : place, 0, { model: budget, policy: undefined });
    const layered = layers.policyOf(engine, stages);
    const limits = kinds.includes('timeout') || kinds.includes('budget');
    const [first, ...others] = layered as [LayeredPolicy, ...LayeredPolicy[]];

    return { policy: this.wrap(by === 'wrap' ? layered : [first, this.wrap(others)]), limits };
  }

  private wrap(policies: readonly LayeredPolicy[]): LayeredPolicy {
    return this.means.engine.ResiliencePolicy.wrap(...policies);
  }

  private subscribe(policy: LayeredPolicy): void {
    const rejects = this.subscribers % 2 === 1;
    this.subscribers += 1;
    policy.subscribe((): void | Promise<never> => {
      const error = new Error('a listener fails');
      if (rejects) return Promise.reject(error);

      throw error;
    });
  }
}

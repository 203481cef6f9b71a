import { BreakerModel } from './models/breaker.js';
import { BudgetModel } from './models/limits.js';
/** All policies of a scenario, with their models, and the stacks that they are put into. */
export class Policies {
    constructor(means, scenario) {
        this.means = means;
        this.scenario = scenario;
        /** How many listeners stand on policies. */
        this.subscribers = 0;
        this.stages = scenario.policies.map((recipe, at) => means.builder.build(recipe, at));
        this.models = this.stages.map(({ model }) => model);
        this.stacks = scenario.stacks.map((recipe) => this.build(recipe));
        if (scenario.listenersThrow)
            for (const { policy } of this.stages)
                this.subscribe(policy);
    }
    stack(at) {
        return this.stacks[at];
    }
    /** What lets a section pass that has no policy, and looks at it. */
    noneAtAll() {
        return this.wrap(this.means.layers.policyOf(this.means.engine, []));
    }
    onEvent(event) {
        const named = this.models.filter(({ name }) => name === event.policy);
        // The budget of one call goes by the name of all its policies.
        const told = named.length > 0 ? named : this.models.filter((model) => model instanceof BudgetModel);
        for (const model of told)
            model.onEvent(event);
    }
    /** Runs what may make policies deal with other calls in the midst of one. */
    keepingCurrent(run) {
        const current = this.models.map((model) => model.current);
        run();
        this.models.forEach((model, at) => (model.current = current[at]));
    }
    check(isOver) {
        for (const model of this.models)
            model.check(isOver);
    }
    /** Opens a breaker by hand, or closes it. */
    control(how, at) {
        const { model, policy } = this.stages[at];
        if (!(model instanceof BreakerModel))
            return;
        model.control(how === 'trip' ? 'open' : 'closed');
        policy[how]();
    }
    /** All that can be seen of them. */
    snapshot() {
        const seen = this.stages.map(({ policy }) => {
            const { stats, active, queued, available } = policy;
            return { stats, active, queued, available };
        });
        return JSON.stringify([seen, this.means.watch.world.timers]);
    }
    /** Slots that are taken, and places in queues. */
    get held() {
        return this.stages.reduce((sum, { policy }) => {
            const { active = 0, queued = 0 } = policy;
            return sum + active + queued;
        }, 0);
    }
    build({ policies, by }) {
        const { engine, layers, watch } = this.means;
        const kinds = policies.map((place) => this.scenario.policies[place]?.kind);
        const stages = policies.map((place) => this.stages[place]);
        const place = kinds.findIndex((kind) => kind !== 'fallback');
        const budget = new BudgetModel({ watch, name: 'budget of a call' }, undefined);
        this.models.push(budget);
        stages.splice(place < 0 ? stages.length : place, 0, { model: budget, policy: undefined });
        const layered = layers.policyOf(engine, stages);
        const limits = kinds.includes('timeout') || kinds.includes('budget');
        const [first, ...others] = layered;
        return { policy: this.wrap(by === 'wrap' ? layered : [first, this.wrap(others)]), limits };
    }
    wrap(policies) {
        return this.means.engine.ResiliencePolicy.wrap(...policies);
    }
    subscribe(policy) {
        this.subscribers += 1;
        policy.subscribe(() => {
            throw new Error('a listener fails');
        });
    }
}
//# sourceMappingURL=policies.js.map
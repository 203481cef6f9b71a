import { Started } from './calls.js';
import { AttemptRecord, Run } from './run.js';
import { show } from './watch.js';
/**
 * Calls under `createPolicy()`. No glass stands between its stages, as in an application, so that less is known: that
 * such a call settles once, at once for a caller who leaves, and what it may run.
 */
export class PlainCalls {
    constructor(means, { stages }) {
        this.means = means;
        this.attempts = [];
        const made = means.builder.stages(stages, (recipe, context) => means.works.answer(recipe, new AttemptRecord(this.runOf(NOBODY), context)));
        this.policy = means.engine.createPolicy(made, 'plain calls');
        this.bulkhead = made.bulkhead;
        const retry = stages.find((recipe) => recipe.kind === 'retry');
        const bulkhead = stages.find((recipe) => recipe.kind === 'bulkhead');
        this.mostAttempts = retry?.attempts ?? 1;
        this.mostAtOnce = bulkhead?.holds === true ? bulkhead.slots : Infinity;
    }
    /** Slots that are taken, and places in its queue. */
    get held() {
        return (this.bulkhead?.active ?? 0) + (this.bulkhead?.queued ?? 0);
    }
    call(step, id, caller) {
        const owner = { ...NOBODY, id, caller, budgetMs: step.budget };
        const started = new Started(this.means.watch, owner, 'plain call');
        let begun = 0;
        const work = (context) => {
            const attempt = this.begin(started, context);
            begun += 1;
            this.require(begun <= this.mostAttempts, 'retries-as-told', `${id} makes ${begun} attempts`);
            const next = step.works[Math.min(begun, step.works.length) - 1];
            return this.means.works.perform(next, attempt);
        };
        const { budget } = step;
        const options = {
            source: id,
            ...(caller !== undefined && { signal: caller.controller.signal }),
            ...(budget !== undefined && { budget }),
        };
        started.follow(this.policy.execute(work, options)).catch(() => { });
        return started;
    }
    begin({ settled, reasons, owner }, context) {
        this.require(settled === undefined, 'nothing-for-nobody', `${owner.id} begins work after its end`);
        this.require(reasons.length === 0, 'nothing-for-nobody', `${owner.id} begins work although ${show(reasons[0])}`);
        const attempt = new AttemptRecord(this.runOf(owner), context);
        this.attempts.push(attempt);
        const atOnce = this.attempts.filter(({ works }) => works).length;
        this.require(atOnce <= this.mostAtOnce, 'slots-as-counted', `${atOnce} works run at once`);
        return attempt;
    }
    runOf(owner) {
        return new Run(this.means.watch, owner, undefined);
    }
    require(...[holds, invariant, what]) {
        this.means.watch.require(holds, invariant, what);
    }
}
const NOBODY = {
    id: 'nobody',
    caller: undefined,
    outer: undefined,
    follows: undefined,
    around: undefined,
    ambient: true,
    isOpened: true,
    budgetMs: undefined,
    sharesId: false,
};
//# sourceMappingURL=plain-calls.js.map
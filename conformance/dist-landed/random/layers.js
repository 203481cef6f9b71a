import { show } from './watch.js';
/**
 * Looks at what passes between the stages of a stack: a layer of glass stands outside of the first stage, between any
 * two, and inside of the last. Each stage then has a model of its own that is told what comes in on one side and goes
 * out on the other, and no model has to know what the others do.
 */
export class Layers {
    constructor(watch, newRun) {
        this.watch = watch;
        this.newRun = newRun;
        /** The run whose work begins next. */
        this.arriving = undefined;
        this.runs = new Map();
    }
    /** Policies and models, in their order, under one policy with glass between them. */
    policyOf(engine, stages) {
        const models = stages.map(({ model }) => model);
        const glass = (at) => {
            // Glass around fallbacks is like these for whoever looks for the place of a budget.
            const isAround = at <= stages.findIndex(({ policy }) => policy === undefined);
            return glassPane(engine, { layers: this, models, at, isAround });
        };
        return [
            glass(0),
            ...stages.flatMap(({ policy }, at) => [...(policy === undefined ? [] : [policy]), glass(at + 1)]),
        ];
    }
    onEnter(pane, execution) {
        const { at, models } = pane;
        const run = at === 0 ? this.begin(execution) : this.runs.get(execution);
        if (run === undefined)
            return this.watch.require(false, 'nothing-for-nobody', 'a stage is begun for nobody');
        const isNext = run.depth === at && !run.isOver;
        this.watch.require(isNext, 'nothing-for-nobody', `layer ${at} is entered ${run.isOver ? 'after the end' : `from ${run.depth}`}`);
        run.depth = at + 1;
        if (at > 0)
            models[at - 1]?.goIn(run);
        if (at < models.length)
            models[at]?.enter(run);
        else
            this.arriving = run;
    }
    onLeave(pane, execution, outcome) {
        const { at, models } = pane;
        const run = this.runs.get(execution);
        if (run === undefined)
            return;
        this.watch.require(run.depth === at + 1, 'outcome-passes', `layer ${at} is left from ${run.depth}`);
        run.depth = at;
        if (outcome.cutting)
            cutAttempt(run, outcome.value);
        else
            this.settleAttempt(run, outcome);
        if (at < models.length)
            models[at]?.leave(run, outcome);
        if (at > 0)
            return models[at - 1]?.comeBack(run, outcome);
        this.runs.delete(execution);
        run.end(outcome);
    }
    begin(execution) {
        const run = this.newRun(execution);
        if (run !== undefined)
            this.runs.set(execution, run);
        return run;
    }
    settleAttempt(run, { ok, value }) {
        if (this.arriving === run) {
            this.arriving = undefined;
            this.watch.reach('refused without time');
            this.watch.blame(value, 'does not count');
            this.watch.require(!ok && run.isOutOfTime(), 'nothing-for-nobody', `work is refused with ${show(value)}`);
            return;
        }
        run.attempt?.close('settled');
        run.attempt = undefined;
    }
}
function cutAttempt(run, reason) {
    const { attempt } = run;
    if (attempt === undefined)
        return;
    attempt.close('cut', reason);
    run.abandoned.push(attempt);
    run.attempt = undefined;
}
/** A stage that lets everything pass and looks at it. */
function glassPane(engine, pane) {
    const { layers } = pane;
    class Glass extends engine.RetryPolicy {
        get answersFailures() {
            return pane.isAround;
        }
        enter(execution) {
            layers.onEnter(pane, execution);
            return true;
        }
        leave(execution) {
            const { ok, value, cutting } = execution;
            layers.onLeave(pane, execution, { ok, value, cutting });
            return true;
        }
    }
    return new Glass(1);
}
//# sourceMappingURL=layers.js.map
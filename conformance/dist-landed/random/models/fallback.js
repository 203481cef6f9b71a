import { show } from '../watch.js';
import { isFlaw, says } from './retry.js';
import { StageModel } from './stage-model.js';
/** An answer instead of a failure. */
export class FallbackModel extends StageModel {
    constructor(place, recipe) {
        super(place);
        this.recipe = recipe;
    }
    goIn() { }
    /** Its handler is called. */
    onHandler(error) {
        const run = this.current;
        const frame = run === undefined ? undefined : this.frames.get(run);
        if (run === undefined || frame === undefined) {
            this.require(false, 'fallback-as-told', 'answers for a call that is over');
            return undefined;
        }
        frame.answered += 1;
        const isRight = frame.expects === 'an answer' && frame.answered === 1 && frame.back?.value === error;
        this.require(isRight, 'fallback-as-told', `answers for ${show(error)}`);
        this.require(frame.told === 1 || run.owner.sharesId, 'fallback-as-told', 'does not tell that it answers');
        this.watch.reach('fallback used');
        run.attemptNumber = frame.attemptNumber;
        run.isFlawed = false;
        return run;
    }
    onEvent({ type, source, error }) {
        const run = this.current;
        const frame = run === undefined ? undefined : this.frames.get(run);
        if (type === 'fallback' && run?.owner.id === source && frame?.back?.value === error)
            frame.told += 1;
    }
    begin(run) {
        return { attemptNumber: run.attemptNumber, back: undefined, expects: 'the same outcome', answered: 0, told: 0 };
    }
    onBack(run, frame, outcome) {
        frame.back = outcome;
        const { handleIf } = this.recipe;
        if (outcome.ok || outcome.cutting || run.isLeft)
            return;
        frame.expects =
            handleIf === 'throws' ? 'an error of its own' : says(handleIf, outcome.value) ? 'an answer' : 'the same outcome';
    }
    onLeave(run, frame, outcome) {
        const { expects, answered, back } = frame;
        if (expects === 'the same outcome')
            return this.requirePassed(back, outcome);
        if (expects === 'an answer') {
            this.require(answered === 1, 'fallback-as-told', `does not answer for ${show(back?.value)}`);
            return;
        }
        run.isFlawed = true;
        this.watch.reach('own error of a predicate');
        this.require(isFlaw(outcome), 'flaw-takes-the-place', `made ${show(outcome.value)} of an error of its predicate`);
    }
}
//# sourceMappingURL=fallback.js.map
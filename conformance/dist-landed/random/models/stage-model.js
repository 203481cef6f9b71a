import { show } from '../watch.js';
/**
 * What one policy has to do, told again plainly, from what passes its outer and its inner side. A frame is what it
 * remembers of one call.
 */
export class StageModel {
    constructor({ watch, name }) {
        /** The call that its policy deals with right now, for callbacks that are not told. */
        this.current = undefined;
        this.frames = new Map();
        this.watch = watch;
        this.name = name;
    }
    /** A call comes from outside. */
    enter(run) {
        this.current = run;
        this.frames.set(run, this.begin(run));
    }
    /** It comes back from inside. */
    comeBack(run, outcome) {
        this.current = run;
        const frame = this.frames.get(run);
        if (frame !== undefined)
            this.onBack(run, frame, outcome);
    }
    /** It leaves outwards. */
    leave(run, outcome) {
        const frame = this.frames.get(run);
        this.frames.delete(run);
        if (frame === undefined)
            return;
        if (outcome.cutting)
            this.onCut(run, frame, outcome);
        else
            this.onLeave(run, frame, outcome);
    }
    onEvent(_event) { }
    /** After each turn of the event loop; `isOver` when all that is due has happened. */
    check(_isOver) { }
    /** The call is given up from further outside. */
    onCut(_run, _frame, _outcome) { }
    require(holds, invariant, what) {
        this.watch.require(holds, invariant, `${this.name}: ${what}`);
    }
    requirePassed(given, outcome) {
        const passed = given !== undefined && given.ok === outcome.ok && given.value === outcome.value;
        this.require(passed, 'outcome-passes', `made ${show(outcome.value)} of ${show(given?.value)}`);
    }
}
//# sourceMappingURL=stage-model.js.map
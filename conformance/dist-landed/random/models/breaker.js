import { isRefusal, limitIn, shapeOf, show } from '../watch.js';
import { BreakerState } from './breaker-state.js';
import { RefusalCost } from './refusal-cost.js';
import { isFlaw, says } from './retry.js';
import { StageModel } from './stage-model.js';
const REACHED = { open: 'open', 'half-open': 'half-open', closed: 'closed again' };
/** A circuit breaker: whom it lets in, what it counts, and what it tells. */
export class BreakerModel extends StageModel {
    constructor(place, recipe, policy) {
        super(place);
        this.recipe = recipe;
        this.policy = policy;
        this.told = [];
        this.states = [new BreakerState(recipe)];
    }
    goIn(run) {
        const frame = this.frames.get(run);
        if (frame === undefined || frame.isIn)
            return;
        frame.isIn = true;
        this.keep((state) => frame.answers.get(state) === undefined, 'lets a call in that it has to refuse');
    }
    onEvent({ type, to }) {
        if (to === undefined || !type.startsWith('circuit-'))
            return;
        this.told.push(to);
        this.watch.reach(REACHED[to]);
    }
    check() {
        const { total, failures } = this.policy.stats;
        const { now } = this.watch;
        const told = this.told.join();
        const isSame = (state) => {
            const expected = state.stats(now);
            return expected.total === total && expected.failures === failures && state.entered.join() === told;
        };
        const [first] = this.states;
        const expected = first.stats(now);
        this.keep(isSame, `counts ${failures} of ${total} after ${told || 'nothing'}; expected ${expected.failures} of ${expected.total} after ${first.entered.join() || 'nothing'}`);
        if (first.lost > 0)
            this.watch.reach('probe lease lost');
    }
    /** Somebody opens or closes it by hand. */
    control(name) {
        for (const state of this.states)
            state.enter(name, this.watch.now);
    }
    begin(run) {
        const { now } = this.watch;
        const call = {};
        const answers = new Map(this.states.map((state) => [state, state.call(call, now)]));
        return {
            call,
            enteredAt: now,
            waitedBefore: run.waitedMs,
            answers,
            cost: new RefusalCost(this.watch),
            isIn: false,
            back: undefined,
            failed: undefined,
            asks: false,
        };
    }
    onBack(run, frame, outcome) {
        frame.back = outcome;
        frame.asks = !outcome.ok && this.asks(run, frame, outcome);
        frame.failed = outcome.ok ? false : this.judge(frame.asks, outcome);
    }
    onLeave(run, frame, outcome) {
        const { back, isIn, cost, answers } = frame;
        if (!isIn) {
            const { code, retryAfterMs } = shapeOf(outcome.value);
            this.require(code === 'CIRCUIT_OPEN', 'reasons-apart', `refused with ${show(outcome.value)}`);
            this.keep((state) => answers.get(state) === retryAfterMs, `refused for ${String(retryAfterMs)} ms, expected ${String([...answers.values()][0])}`);
            cost.requireNone(this.name, outcome.value);
            return;
        }
        this.settle(frame);
        if (frame.asks === true ? this.recipe.recordIf === 'throws' : frame.asks === 'unknown' && isFlaw(outcome)) {
            run.isFlawed = true;
            this.watch.reach('own error of a predicate');
            this.require(isFlaw(outcome), 'flaw-takes-the-place', `made ${show(outcome.value)} of an error of its predicate`);
            return;
        }
        this.requirePassed(back, outcome);
    }
    onCut(_run, frame) {
        // A listener has made its caller leave before it was let in.
        if (!frame.isIn)
            frame.failed = undefined;
        // Or a callback, when it had come back: what the predicate says then counts for nothing.
        else if (frame.back?.cutting === false && frame.asks !== false)
            frame.failed = 'unknown';
        this.settle(frame);
    }
    settle({ call, failed, back }) {
        const { now } = this.watch;
        if (failed !== 'unknown') {
            for (const state of this.states)
                state.settle(call, failed, now);
            return;
        }
        this.states = this.states.flatMap((state) => {
            const other = state.copy();
            state.settle(call, undefined, now);
            other.settle(call, this.counts(back?.value), now);
            return [state, other];
        });
    }
    judge(asks, { value }) {
        if (asks !== true)
            return asks === 'unknown' ? 'unknown' : undefined;
        return this.counts(value);
    }
    /** What an error counts for that the predicate is asked about; one that throws says nothing in the error's favour. */
    counts(error) {
        const { recordIf } = this.recipe;
        return recordIf === 'throws' || says(recordIf, error) ? true : undefined;
    }
    /** Whether the outcome says anything about the dependency, so that the predicate is asked. */
    asks(run, frame, { value, cutting }) {
        if (isRefusal(value))
            return false;
        const limit = limitIn(value);
        const blame = limit === undefined ? 'counts' : this.watch.blameOf(limit);
        if (blame === 'does not count' || (!cutting && (run.isFlawed || run.isLeft)))
            return false;
        if ((cutting || limit?.code === 'DEADLINE_EXCEEDED') && !this.ranLongEnough(run, frame, limit))
            return false;
        return blame === 'counts' ? true : 'unknown';
    }
    /** Whoever is cut from outside has to have had half of that limit, without the time in queues. */
    ranLongEnough(run, { enteredAt, waitedBefore }, limit) {
        const limitMs = limit?.timeoutMs ?? limit?.budgetMs;
        if (limitMs === undefined)
            return false;
        return this.watch.now - enteredAt - (run.waitedMs - waitedBefore) >= limitMs / 2;
    }
    keep(isRight, what) {
        const left = this.states.filter(isRight);
        this.require(left.length > 0, 'breaker-as-counted', what);
        if (left.length > 0)
            this.states = left.slice(0, 64);
    }
}
//# sourceMappingURL=breaker.js.map
import { shapeOf, show } from '../watch.js';
import { RefusalCost } from './refusal-cost.js';
import { StageModel } from './stage-model.js';
/** Slots, and who waits for one: first come, first served. */
export class BulkheadModel extends StageModel {
    constructor(place, recipe, counts) {
        super(place);
        this.recipe = recipe;
        this.counts = counts;
        this.active = 0;
        this.queue = [];
        /** Calls that have left work behind which runs on, and may keep their slot. */
        this.kept = [];
    }
    goIn(run) {
        this.giveBackKept();
        const frame = this.frames.get(run);
        if (frame === undefined)
            return;
        // What comes in again, from a retry inside, still has its slot.
        const isIts = frame.place === 'slot' || frame.place === 'granted' || frame.back !== undefined;
        this.require(isIts, 'slots-as-counted', `lets a call in that is ${frame.place}`);
        frame.place = 'inside';
    }
    check(isOver) {
        this.giveBackKept();
        const { active, queued, abandoned } = this.counts;
        const runOn = this.recipe.holds ? 0 : this.kept.length;
        const isSame = active === this.active && queued === this.queue.length && abandoned === runOn;
        this.require(isSame, 'slots-as-counted', `${active} active, ${queued} queued, ${abandoned} abandoned; expected ${this.active}, ${this.queue.length}, ${runOn}`);
        if (!isOver)
            return;
        for (const { place, queuedUntil } of this.frames.values()) {
            this.require(place !== 'granted', 'slots-as-counted', 'grants a slot that nobody takes');
            const waits = place === 'queue' && queuedUntil <= this.watch.now;
            this.require(!waits, 'limit-to-the-millisecond', 'lets a call wait for longer than its queue timeout');
        }
    }
    begin(run) {
        const { slots, queue, queueTimeout = Infinity } = this.recipe;
        const queuedUntil = this.watch.now + queueTimeout;
        const abandonedBefore = run.abandoned.length;
        const frame = { queuedUntil, abandonedBefore, cost: new RefusalCost(this.watch), back: undefined };
        // Of work that has ended just now, the slot is free.
        this.giveBackKept();
        if (this.active < slots) {
            this.active += 1;
            return { ...frame, place: 'slot' };
        }
        if (this.queue.length >= queue)
            return { ...frame, place: 'refused' };
        this.queue.push(run);
        run.markWaiting(true);
        return { ...frame, place: 'queue' };
    }
    onBack(_run, frame, outcome) {
        frame.back = outcome;
    }
    onLeave(run, frame, outcome) {
        if (frame.place === 'refused') {
            this.watch.reach('queue full');
            this.requireRefusal(outcome, 'full');
            frame.cost.requireNone(this.name, outcome.value);
            return;
        }
        if (frame.place === 'queue') {
            this.watch.reach('queue timeout');
            this.require(frame.queuedUntil <= this.watch.now, 'limit-to-the-millisecond', 'ends a wait in its queue too early');
            this.requireRefusal(outcome, 'queue-timeout');
            this.leaveQueue(run);
            return;
        }
        this.requirePassed(frame.back, outcome);
        this.giveBack(run, frame);
    }
    onCut(run, frame) {
        if (frame.place === 'queue') {
            this.watch.reach('aborted in a queue');
            this.leaveQueue(run);
        }
        else if (frame.place !== 'refused') {
            this.giveBack(run, frame);
        }
    }
    requireRefusal({ ok, value }, reason) {
        const { code, reason: given } = shapeOf(value);
        this.require(!ok && code === 'BULKHEAD_FULL' && given === reason, 'reasons-apart', `refused with ${show(value)}`);
    }
    leaveQueue(run) {
        this.queue.splice(this.queue.indexOf(run), 1);
        run.markWaiting(false);
    }
    /** A slot stays taken for work that was given up inside, until all of that has ended. */
    giveBack(run, { abandonedBefore }) {
        const left = run.abandoned.slice(abandonedBefore).filter(({ works }) => works);
        if (left.length === 0)
            return this.release();
        this.kept.push(left);
        this.watch.reach('abandoned');
        if (!this.recipe.holds)
            this.release();
    }
    giveBackKept() {
        for (const left of [...this.kept]) {
            if (left.some(({ works }) => works))
                continue;
            this.kept.splice(this.kept.indexOf(left), 1);
            if (this.recipe.holds)
                this.release();
        }
    }
    release() {
        const next = this.queue.shift();
        if (next === undefined) {
            this.active -= 1;
            return;
        }
        this.watch.reach('granted from the queue');
        this.frames.get(next).place = 'granted';
        next.markWaiting(false);
    }
}
//# sourceMappingURL=bulkhead.js.map
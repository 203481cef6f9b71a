/** One run of somebody's work, or of a fallback's handler. */
export class AttemptRecord {
    constructor(run, context) {
        this.run = run;
        this.context = context;
        this.state = 'running';
        this.reason = undefined;
        this.cutAt = undefined;
        /** Whether what the work returned is still pending. */
        this.works = true;
        this.signal = undefined;
        this.inside = 0;
        this.waiting = 0;
    }
    /** The innermost attempt from here on outwards that has not ended; `undefined` when all have. */
    get living() {
        return this.state === 'running' ? this : this.run.owner.outer?.living;
    }
    /** What a call inherits that is started inside. */
    get inherited() {
        const { around, ambient, isOpened } = this.run.owner;
        return ambient && (isOpened || this.context.attempt > 1) ? this.living : around?.living;
    }
    get allWait() {
        return this.waiting > 0 && this.waiting === this.inside;
    }
    /** Calls inside begin or end, or begin or stop to wait: time counts as waiting while all of them wait. */
    count(inside, waiting) {
        const before = this.allWait;
        this.inside += inside;
        this.waiting += waiting;
        if (this.allWait !== before && this.state === 'running')
            this.run.markWaiting(this.allWait);
    }
    close(state, reason) {
        if (this.allWait)
            this.run.markWaiting(false);
        this.state = state;
        this.reason = reason;
        if (state === 'cut')
            this.cutAt = this.run.watch.now;
    }
}
/** One call on its way through its stages. */
export class Run {
    constructor(watch, owner, 
    /** The earliest that holds where it is now. */
    deadline) {
        this.watch = watch;
        this.owner = owner;
        this.deadline = deadline;
        /** How many layers it is inside of. */
        this.depth = 0;
        this.isOver = false;
        /** Whether an own error of a predicate is on its way out. */
        this.isFlawed = false;
        this.attemptNumber = 1;
        this.attempt = undefined;
        this.outcome = undefined;
        /** Attempts that were given up. */
        this.abandoned = [];
        this.waited = 0;
        this.waitsSince = undefined;
        owner.outer?.count(1, 0);
    }
    /** Whether its caller, or the attempt around, has given it up. */
    get isLeft() {
        const { caller, outer, follows } = this.owner;
        return caller?.controller.signal.aborted === true || outer?.state === 'cut' || follows?.state === 'cut';
    }
    /** Whether too little time is left, after a wait, to start anything. */
    isOutOfTime(waitMs = 0) {
        const { deadline } = this;
        if (deadline === undefined)
            return false;
        const leftMs = deadline.expiresAt - this.watch.now - waitMs;
        return leftMs <= 0 || leftMs < deadline.leastMs;
    }
    markWaiting(waits) {
        if (waits) {
            this.waitsSince = this.watch.now;
        }
        else if (this.waitsSince !== undefined) {
            this.waited += this.watch.now - this.waitsSince;
            this.waitsSince = undefined;
        }
        this.owner.outer?.count(0, waits ? 1 : -1);
    }
    /** How long it has waited in queues so far. */
    get waitedMs() {
        return this.waited + (this.waitsSince === undefined ? 0 : this.watch.now - this.waitsSince);
    }
    /** The outermost layer was left. */
    end(outcome) {
        this.isOver = true;
        this.outcome = outcome;
        this.owner.outer?.count(-1, 0);
    }
}
//# sourceMappingURL=run.js.map
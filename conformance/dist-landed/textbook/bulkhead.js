import { BulkheadFullError } from 'holdfast';
import { started, untilAbort } from './running.js';
/** A bulkhead as a textbook has it. Mutants of it are wrong in one method. */
export class TextbookBulkhead {
    constructor(spec) {
        this.spec = spec;
        this.taken = 0;
        this.line = new Set();
    }
    running() {
        return this.taken;
    }
    waiting() {
        return this.line.size;
    }
    async run(work, signal) {
        this.lookAt(signal);
        if (this.isFree())
            this.taken += 1;
        else if (this.isFull())
            throw new BulkheadFullError('textbook', 'full');
        else
            await this.turn(signal);
        return this.runWithSlot(work, signal);
    }
    /** An abort that has already happened is told by no event. */
    lookAt(signal) {
        signal?.throwIfAborted();
    }
    isFree() {
        return this.taken < this.spec.limit;
    }
    isFull() {
        return this.line.size >= this.spec.queue;
    }
    /** Resolves once this call has a slot. */
    turn(signal) {
        let waiter;
        const granted = new Promise((grant) => {
            waiter = { grant };
            this.line.add(waiter);
        });
        return untilAbort(granted, signal, () => this.giveUp(waiter));
    }
    /** A waiter that is aborted leaves the line; one that had been granted by then gives its slot back. */
    giveUp(waiter) {
        if (!this.line.delete(waiter))
            this.release();
    }
    /** The slot is taken until the work has ended, whoever waits for it by then. */
    runWithSlot(work, signal) {
        if (signal?.aborted === true) {
            this.release();
            throw signal.reason;
        }
        const body = started(work, signal);
        const release = () => this.release();
        const released = body.finally(release);
        return untilAbort(released, signal);
    }
    /** Gives a slot to the next in line, or back. */
    release() {
        const next = this.next();
        if (next === undefined) {
            this.taken -= 1;
        }
        else {
            this.line.delete(next);
            next.grant();
        }
    }
    next() {
        return this.line.values().next().value;
    }
}
/** Our own library with another bulkhead. */
export function withBulkhead(Bulkhead) {
    return (ours) => ({ ...ours, bulkhead: (spec) => new Bulkhead(spec) });
}
//# sourceMappingURL=bulkhead.js.map
import { OutboundRateLimitError } from 'holdfast';
import { started, untilAbort } from './running.js';
/** A rate limit by a log of starts, as a textbook has it. Mutants of it are wrong in one method. */
export class TextbookRateLimit {
    constructor(spec) {
        this.spec = spec;
        /** When calls started, or will start, in order. */
        this.starts = [];
    }
    async run(work, signal) {
        signal?.throwIfAborted();
        const start = this.nextStart();
        const waitMs = Math.max(0, start - Date.now());
        if (waitMs > this.spec.maxWaitMs)
            await this.refuse(waitMs);
        this.starts.push(start);
        if (waitMs > 0)
            await this.wait(start, signal);
        return untilAbort(started(work, signal), signal);
    }
    /** At most `limit` calls start in any interval. */
    nextStart() {
        const { limit, intervalMs } = this.spec;
        const before = this.starts.at(-limit);
        return before === undefined ? Date.now() : Math.max(Date.now(), before + intervalMs);
    }
    async refuse(waitMs) {
        throw new OutboundRateLimitError('textbook', waitMs);
    }
    async wait(start, signal) {
        let timer;
        const turn = new Promise((resolve) => {
            timer = setTimeout(resolve, start - Date.now());
        });
        await untilAbort(turn, signal, () => {
            clearTimeout(timer);
            this.giveBack(start);
        });
    }
    giveBack(start) {
        this.starts.splice(this.starts.indexOf(start), 1);
    }
}
/** Our own library with another rate limit. */
export function withRateLimit(RateLimit) {
    return (ours) => ({ ...ours, rateLimit: (spec) => new RateLimit(spec) });
}
//# sourceMappingURL=rate-limit.js.map
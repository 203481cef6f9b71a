/** What executions have to reach, each in at least {@link LEAST_PERCENT} of them. */
export const STATES = [
    'open',
    'half-open',
    'closed again',
    'queue full',
    'queue timeout',
    'granted from the queue',
    'deadline expired',
    'refused without time',
    'timed out',
    'abandoned',
    'retried',
    'aborted while it waits',
    'aborted in a queue',
    'aborted in a callback',
    'aborted by the call around',
    'token wait',
    'rate limited',
    'probe lease lost',
    'fallback used',
    'own error of a predicate',
    'section degraded',
    'section skipped',
    'section required and failed',
    'nested',
    'clock stepped',
    'late timer',
    'late outcome dropped',
];
export const LEAST_PERCENT = 1;
/** In how many executions each state was reached. */
export class Coverage {
    constructor() {
        this.executions = 0;
        this.counts = new Map(STATES.map((state) => [state, 0]));
    }
    add(reached) {
        this.executions += 1;
        for (const state of reached)
            this.counts.set(state, (this.counts.get(state) ?? 0) + 1);
    }
    percentOf(state) {
        return ((this.counts.get(state) ?? 0) * 100) / Math.max(1, this.executions);
    }
    /** States that too few executions have reached. */
    get missed() {
        return STATES.filter((state) => this.percentOf(state) < LEAST_PERCENT);
    }
    get lines() {
        return STATES.map((state) => `${this.percentOf(state).toFixed(1).padStart(6)} %  ${state}`);
    }
}
//# sourceMappingURL=coverage.js.map
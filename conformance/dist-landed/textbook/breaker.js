import { CircuitOpenError } from 'holdfast';
import { started, untilAbort } from './running.js';
/**
 * A circuit breaker as a textbook has it: right, and slow. Mutants of it are wrong in one method, so that each
 * scenario is known to pass with another implementation than ours, and to fail for its own reason.
 */
export class TextbookBreaker {
    constructor(spec, ours) {
        this.spec = spec;
        this.ours = ours;
        this.era = { state: 'closed' };
        this.entries = [];
        this.inFlight = new Set();
        this.listeners = [];
    }
    state() {
        this.catchUp();
        return this.era.state;
    }
    onState(listener) {
        this.listeners.push(listener);
    }
    callsInWindow() {
        return sum(this.recent(), 'calls');
    }
    async run(work, signal) {
        signal?.throwIfAborted();
        const call = this.admit();
        try {
            const value = await this.attempt(work, signal);
            this.leave(call, 'good');
            return value;
        }
        catch (error) {
            this.leaveFailed(call, error, signal);
            throw error;
        }
    }
    attempt(work, signal) {
        return untilAbort(started(work, signal), signal);
    }
    admit() {
        this.catchUp();
        const { era } = this;
        if (era.state === 'open')
            this.refuse(era.until - Date.now());
        if (era.state === 'half-open' && !this.takePlace(era))
            this.refuse(0);
        const call = { era, startedAt: Date.now() };
        this.inFlight.add(call);
        return call;
    }
    refuse(waitMs) {
        throw new CircuitOpenError('textbook', waitMs);
    }
    takePlace(era) {
        if (era.places >= this.spec.probes)
            return false;
        era.places += 1;
        return true;
    }
    /** An error inside of the filter counts, so that no place stays taken. */
    leaveFailed(call, error, signal) {
        let outcome = 'failed';
        try {
            outcome = this.judge(error, signal);
        }
        finally {
            this.leave(call, outcome);
        }
    }
    judge(error, signal) {
        if (this.isCancelled(error, signal) || this.isRefusal(error))
            return 'ignored';
        return (this.spec.recordIf?.(error) ?? true) ? 'failed' : 'ignored';
    }
    isCancelled(error, signal) {
        return signal?.aborted === true && error === signal.reason;
    }
    isRefusal(error) {
        return this.ours.refusal(error) !== undefined;
    }
    leave(call, outcome) {
        this.inFlight.delete(call);
        if (!this.isCurrent(call))
            return;
        if (this.era.state === 'half-open')
            this.settleProbe(this.era, outcome);
        else if (this.era.state === 'closed' && outcome !== 'ignored')
            this.record(call, outcome);
    }
    /** Outcomes of an earlier era change nothing. */
    isCurrent(call) {
        return call.era === this.era;
    }
    settleProbe(era, outcome) {
        if (outcome === 'ignored')
            era.places -= 1;
        else
            era[outcome] += 1;
        const { probes, failureRate } = this.spec;
        if ((era.failed * 100) / probes >= failureRate)
            this.open();
        else if (era.good + era.failed === probes)
            this.close();
    }
    record({ startedAt }, outcome) {
        const at = Date.now();
        const entry = this.entryOf(at);
        entry.calls += 1;
        if (outcome === 'failed')
            entry.failed += 1;
        if (at - startedAt >= (this.spec.slow?.ms ?? Infinity))
            entry.slow += 1;
        this.checkRates();
    }
    entryOf(at) {
        const last = this.entries.at(-1);
        if (last?.at === at && 'ms' in this.spec.window)
            return last;
        const entry = { at, calls: 0, failed: 0, slow: 0 };
        this.entries.push(entry);
        return entry;
    }
    checkRates() {
        const entries = this.recent();
        const calls = sum(entries, 'calls');
        const lagging = this.lagging();
        if (!this.isEnough(calls + lagging))
            return;
        const slow = sum(entries, 'slow') + lagging;
        const fails = this.isEnough(calls) && (sum(entries, 'failed') * 100) / calls >= this.spec.failureRate;
        const lags = slow > 0 && (slow * 100) / (calls + lagging) >= (this.spec.slow?.rate ?? Infinity);
        if (fails || lags)
            this.open();
    }
    isEnough(calls) {
        return calls > 0 && calls >= this.spec.minimumCalls;
    }
    /** Calls in flight that are slow already. */
    lagging() {
        const { slow } = this.spec;
        if (slow === undefined)
            return 0;
        return [...this.inFlight].filter(({ era, startedAt }) => era === this.era && Date.now() - startedAt >= slow.ms)
            .length;
    }
    /** What the window holds now. */
    recent() {
        const { window } = this.spec;
        if ('calls' in window)
            return this.entries.slice(-window.calls);
        return this.entries.filter(({ at }) => Date.now() - at < window.ms);
    }
    catchUp() {
        if (this.era.state === 'open' && Date.now() >= this.era.until) {
            this.change({ state: 'half-open', places: 0, good: 0, failed: 0 });
        }
        else if (this.era.state === 'closed' && this.lagging() > 0) {
            this.checkRates();
        }
    }
    open() {
        this.change({ state: 'open', until: Date.now() + this.spec.openMs });
    }
    close() {
        this.entries = [];
        this.change({ state: 'closed' });
    }
    change(era) {
        this.era = era;
        for (const listener of this.listeners)
            listener(era.state);
    }
}
function sum(entries, field) {
    return entries.reduce((total, entry) => total + entry[field], 0);
}
/** Our own library with another breaker. */
export function withBreaker(Breaker) {
    return (ours) => ({ ...ours, breaker: (spec) => new Breaker(spec, ours) });
}
//# sourceMappingURL=breaker.js.map
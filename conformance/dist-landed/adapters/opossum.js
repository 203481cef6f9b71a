import { EventEmitter } from 'node:events';
import CircuitBreaker from 'opossum';
import { NotOffered } from '../adapter.js';
import { installedVersion } from './installed.js';
import { nested } from './nested.js';
/** A circuit is the timeout, the bulkhead, the breaker and the fallback in one: each policy is one with one of them on. */
const NOTHING = {
    // Ten seconds by default.
    timeout: false,
    // Opens for no number of failures.
    volumeThreshold: Number.MAX_SAFE_INTEGER,
    // Documented for those who read no snapshots: one timer less for each circuit.
    enableSnapshots: false,
    // Documented for those who read no percentiles: nothing is sorted then.
    rollingPercentilesEnabled: false,
};
/** What a policy without a window has no use for: a timer that moves the window on. */
function unwound(options) {
    return { ...NOTHING, rotateBucketController: new EventEmitter(), ...options };
}
/** It hands on what it is fired with, the caller's signal too, and looks at no signal itself. */
class Opossum {
    constructor(options, attemptSignal = () => undefined) {
        this.circuit = new CircuitBreaker(async (work) => work({ signal: attemptSignal(this.circuit) }), 
        // It writes into them.
        { ...options });
    }
    run(work, signal) {
        return this.circuit.fire(work, signal);
    }
}
/** The signal of its work is that of the circuit: it takes none of a caller. */
class CircuitTimeout extends Opossum {
    run(work, signal) {
        if (signal !== undefined)
            throw new NotOffered('it takes no signal of a caller');
        return super.run(work);
    }
}
function isRefusal(error) {
    const code = error?.code;
    return code === 'EOPENBREAKER' || code === 'ESEMLOCKED';
}
/** Its filter is given what was fired, and so can tell a caller's abort. */
function isAbort(error, signal) {
    return signal?.aborted === true && error === signal.reason;
}
function breakerOptions({ failureRate, minimumCalls, window, openMs, probes, recordIf, slow }) {
    if (slow !== undefined)
        throw new NotOffered('it knows no slow calls');
    if ('calls' in window)
        throw new NotOffered('its window is one of time');
    if (probes !== 1)
        throw new NotOffered('it has one probe');
    return {
        ...NOTHING,
        // The rate must lie above it.
        errorThresholdPercentage: failureRate - 1e-6,
        volumeThreshold: minimumCalls,
        rollingCountTimeout: window.ms,
        resetTimeout: openMs,
        errorFilter: (error, _work, signal) => isRefusal(error) || isAbort(error, signal) || recordIf?.(error) === false,
    };
}
export const opossum = {
    name: 'opossum',
    version: installedVersion('opossum'),
    settings: {
        timeout: 'timeout, abortController, autoRenewAbortController',
        breaker: 'volumeThreshold, errorThresholdPercentage, rollingCountTimeout, rollingPercentilesEnabled: false, errorFilter for refusals and aborts',
        bulkhead: 'capacity',
        fallback: 'fallback, errorFilter',
        wrap: 'circuits in circuits',
    },
    timeout: (ms) => new CircuitTimeout(
    // Renewed when the circuit changes its state; it makes no other one for a call.
    unwound({ timeout: ms, abortController: new AbortController(), autoRenewAbortController: true }), (circuit) => circuit.getSignal()),
    breaker: (spec) => {
        const policy = new Opossum(breakerOptions(spec));
        const { circuit } = policy;
        return Object.assign(policy, {
            state: () => (circuit.opened ? 'open' : circuit.halfOpen ? 'half-open' : 'closed'),
            onState: (listener) => {
                circuit.on('open', () => listener('open'));
                circuit.on('halfOpen', () => listener('half-open'));
                circuit.on('close', () => listener('closed'));
            },
        });
    },
    bulkhead: ({ limit, queue }) => {
        if (queue > 0)
            throw new NotOffered('it has no queue');
        const policy = new Opossum(unwound({ capacity: limit }));
        const { semaphore } = policy.circuit;
        return Object.assign(policy, { running: () => limit - semaphore.count, waiting: () => 0 });
    },
    fallback: ({ answer, handleIf }) => {
        // An error that the filter lets pass is not answered for.
        const errorFilter = (error, _work, signal) => isAbort(error, signal) || handleIf?.(error) === false;
        const policy = new Opossum(unwound({ errorFilter }));
        policy.circuit.fallback(() => answer());
        return policy;
    },
    wrap: (...policies) => nested(policies),
    refusal: (error) => (isRefusal(error) ? {} : undefined),
    isTimeout: (error) => error?.code === 'ETIMEDOUT',
};
//# sourceMappingURL=opossum.js.map
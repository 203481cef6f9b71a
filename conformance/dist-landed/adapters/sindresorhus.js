import PQueue from 'p-queue';
import pRetry from 'p-retry';
import pTimeout, { TimeoutError } from 'p-timeout';
import { NotOffered } from '../adapter.js';
import { installedVersion } from './installed.js';
import { nested } from './nested.js';
class Retry {
    /** @param limitMs For attempts and waits together. */
    constructor(spec, limitMs = Infinity) {
        this.spec = spec;
        this.limitMs = limitMs;
        if (spec.retryResultIf !== undefined)
            throw new NotOffered('p-retry retries no results');
        if (spec.honourRetryAfter === true)
            throw new NotOffered('p-retry reads no Retry-After');
    }
    within(limitMs) {
        return new Retry(this.spec, Math.min(limitMs, this.limitMs));
    }
    run(work, signal) {
        const { attempts, backoff, retryIf } = this.spec;
        // It hands no signal to the work.
        return pRetry(async () => work({}), {
            retries: attempts - 1,
            minTimeout: backoff.delayMs,
            factor: backoff.factor,
            maxTimeout: backoff.maxDelayMs,
            randomize: backoff.jitter,
            maxRetryTime: this.limitMs,
            signal,
            shouldRetry: ({ error }) => retryIf?.(error) ?? true,
        });
    }
}
/** `maxRetryTime` is an option of p-retry: alone it is nothing, and says so at once, not to the caller of the work. */
class Budget {
    constructor(ms) {
        this.ms = ms;
    }
    run() {
        throw new NotOffered('maxRetryTime is a part of p-retry');
    }
}
class Timeout {
    constructor(ms) {
        this.ms = ms;
    }
    run(work, signal) {
        if (signal?.aborted === true)
            throw new NotOffered('p-timeout is given a promise: work that has begun');
        const controller = new AbortController();
        const promise = (async () => work({ signal: controller.signal }))();
        // At the limit it calls the `cancel` of a promise that has one; it makes no signal itself.
        const cancelable = Object.assign(promise, { cancel: () => controller.abort(signal?.reason) });
        return pTimeout(cancelable, { milliseconds: this.ms, ...(signal === undefined ? {} : { signal }) });
    }
}
class Queue {
    constructor(queue, isFull = () => false) {
        this.queue = queue;
        this.isFull = isFull;
    }
    async run(work, signal) {
        if (this.isFull())
            throw new NotOffered('the queue of p-queue has no bound');
        return (await this.queue.add((given) => work({ signal: given.signal }), { signal }));
    }
}
/** A budget becomes an option of the retry inside of it. */
function wrap(...policies) {
    const budgets = policies.filter((policy) => policy instanceof Budget);
    const limitMs = Math.min(Infinity, ...budgets.map(({ ms }) => ms));
    const others = policies
        .filter((policy) => !(policy instanceof Budget))
        .map((policy) => (policy instanceof Retry ? policy.within(limitMs) : policy));
    if (budgets.length > 0 && !others.some((policy) => policy instanceof Retry)) {
        throw new NotOffered('maxRetryTime is a part of p-retry');
    }
    return nested(others);
}
export const sindresorhus = {
    name: 'p-retry, p-timeout, p-queue',
    version: ['p-retry', 'p-timeout', 'p-queue'].map(installedVersion).join(', '),
    settings: {
        retry: 'p-retry: retries, minTimeout, maxTimeout, factor, randomize, shouldRetry, signal',
        timeout: 'p-timeout: milliseconds, signal, and a promise with cancel, which aborts the signal of the work',
        bulkhead: 'p-queue: concurrency, signal',
        rateLimit: 'p-queue: intervalCap, interval, strict: true (a sliding window), signal',
        budget: 'p-retry: maxRetryTime',
        wrap: 'functions in functions',
    },
    retry: (spec) => new Retry(spec),
    timeout: (ms) => new Timeout(ms),
    bulkhead: ({ limit, queue }) => {
        const pQueue = new PQueue({ concurrency: limit });
        const policy = new Queue(pQueue, () => pQueue.pending >= limit && pQueue.size >= queue);
        return Object.assign(policy, { running: () => pQueue.pending, waiting: () => pQueue.size });
    },
    rateLimit: ({ limit, intervalMs, maxWaitMs }) => {
        if (maxWaitMs < intervalMs)
            throw new NotOffered('calls in p-queue wait for as long as it takes');
        // Strict is its sliding window: without it a burst of twice the cap fits across an edge.
        return new Queue(new PQueue({ intervalCap: limit, interval: intervalMs, strict: true }));
    },
    budget: ({ ms }) => new Budget(ms),
    wrap,
    // Neither queue nor rate limit refuses.
    refusal: () => undefined,
    isTimeout: (error) => error instanceof TimeoutError,
};
//# sourceMappingURL=sindresorhus.js.map
import PQueue from 'p-queue';
import pRetry from 'p-retry';
import pTimeout, { TimeoutError } from 'p-timeout';
import { NotOffered, PLENTY, type Adapter, type Policy, type RetrySpec, type Work } from '../adapter.js';
import { installedVersion } from './installed.js';
import { nested } from './nested.js';

class Retry implements Policy {
  constructor(private readonly spec: RetrySpec) {
    if (spec.retryResultIf !== undefined) throw new NotOffered('p-retry retries no results');
    if (spec.honourRetryAfter === true) throw new NotOffered('p-retry reads no Retry-After');
  }

  run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    const { attempts, backoff, retryIf } = this.spec;
    // It hands no signal to the work.
    return pRetry(() => work({}), {
      retries: attempts - 1,
      minTimeout: backoff.delayMs,
      factor: backoff.factor,
      maxTimeout: backoff.maxDelayMs,
      randomize: backoff.jitter,
      signal,
      shouldRetry: ({ error }) => retryIf?.(error) ?? true,
    });
  }
}

class Timeout implements Policy {
  constructor(private readonly ms: number) {}

  run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted === true) throw new NotOffered('p-timeout is given a promise: work that has begun');

    const controller = new AbortController();
    // It calls the `cancel` of a promise that has one, and tells it nothing; it makes no signal itself.
    const cancelable = Object.assign(begun(work, controller.signal), { cancel: () => controller.abort(CANCELLED) });
    return pTimeout(cancelable, { milliseconds: this.ms, ...(signal === undefined ? {} : { signal }) });
  }
}

/** All that the work is told when its promise is cancelled. */
const CANCELLED = new Error('cancelled');

function begun<T>(work: Work<T>, signal: AbortSignal): Promise<T> {
  try {
    return Promise.resolve(work({ signal }));
  } catch {
    throw new NotOffered('p-timeout is given a promise: work that has begun');
  }
}

class Queue implements Policy {
  constructor(
    readonly queue: PQueue,
    private readonly isFull: () => boolean = () => false,
  ) {}

  async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    if (this.isFull()) throw new NotOffered('the queue of p-queue has no bound');

    return (await this.queue.add((given) => work({ signal: given.signal }), { signal })) as T;
  }
}

export const sindresorhus: Adapter = {
  name: 'p-retry, p-timeout, p-queue',
  version: ['p-retry', 'p-timeout', 'p-queue'].map(installedVersion).join(', '),
  settings: {
    retry: 'p-retry: retries, minTimeout, maxTimeout, factor, randomize, shouldRetry, signal',
    timeout: 'p-timeout: milliseconds, signal, and a promise with cancel, which aborts the signal of the work',
    bulkhead: 'p-queue: concurrency, signal, which frees the slot of a running task, as its documentation says',
    rateLimit: 'p-queue: intervalCap, interval, strict: true (a sliding window), signal',
    wrap: 'functions in functions',
  },
  signals: true,
  retry: (spec) => new Retry(spec),
  timeout: (ms) => new Timeout(ms),
  bulkhead: ({ limit, queue = PLENTY }) => {
    const pQueue = new PQueue({ concurrency: limit });
    const policy = new Queue(pQueue, () => pQueue.pending >= limit && pQueue.size >= queue);
    return Object.assign(policy, { running: () => pQueue.pending, waiting: () => pQueue.size });
  },
  rateLimit: ({ limit, intervalMs, maxWaitMs = Infinity }) => {
    if (maxWaitMs < intervalMs) throw new NotOffered('calls in p-queue wait for as long as it takes');

    // Strict is its sliding window: without it a burst of twice the cap fits across an edge.
    return new Queue(new PQueue({ intervalCap: limit, interval: intervalMs, strict: true }));
  },
  // The documentation of p-retry's `maxRetryTime`: looked at after failed attempts only, interrupts none, and a retry can
  // begin after it. That is no limit of the whole.
  wrap: (...policies) => nested(policies),
  // Neither queue nor rate limit refuses.
  refusal: () => undefined,
  isTimeout: (error) => error instanceof TimeoutError,
  isCancelled: (error) => error === CANCELLED,
};

import {
  BudgetPolicy,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  RejectionError,
  ResiliencePolicy,
  ResilienceTimeoutError,
  DeadlineExceededError,
  RetryPolicy,
  TimeoutPolicy,
  type BackoffFunction,
} from 'holdfast';
import { PLENTY, type Adapter, type BreakerSpec, type Policy, type RetrySpec } from '../adapter.js';
import { installedVersion } from './installed.js';
import { nested } from './nested.js';

/** A policy of ours, found again when policies are wrapped. */
export class OwnPolicy<P extends ResiliencePolicy> implements Policy {
  constructor(readonly policy: P) {}

  run<T>(work: Parameters<Policy['run']>[0], signal?: AbortSignal): Promise<T> {
    return this.policy.execute((attempt) => work(attempt), signal === undefined ? {} : { signal }) as Promise<T>;
  }
}

/** @param backoff In place of the one that is asked for. */
export function retry(spec: RetrySpec, backoff?: BackoffFunction): Policy {
  const { attempts, retryIf, retryResultIf, honourRetryAfter = false } = spec;
  const { delayMs: delay, factor, maxDelayMs: maxDelay, jitter } = spec.backoff;

  return new OwnPolicy(
    new RetryPolicy({
      attempts,
      backoff: backoff ?? { delay, factor, maxDelay, jitter: jitter ? 'full' : 'none' },
      retryIf: retryIf ?? (() => true),
      ...(retryResultIf === undefined ? {} : { retryOnResult: retryResultIf }),
      retryAfter: backoff === undefined && honourRetryAfter,
    }),
  );
}

function breakerOptions(spec: BreakerSpec): ConstructorParameters<typeof CircuitBreakerPolicy>[0] {
  const { failureRate, minimumCalls, window, openMs, probes, recordIf, slow } = spec;

  return {
    failureRateThreshold: failureRate,
    minimumCalls,
    slidingWindow: 'calls' in window ? { type: 'count', size: window.calls } : { type: 'time', size: window.ms },
    openDuration: openMs,
    halfOpenMaxCalls: probes,
    recordIf: recordIf ?? (() => true),
    ...(slow === undefined ? {} : { slowCallDuration: slow.ms, slowCallRateThreshold: slow.rate }),
  } as ConstructorParameters<typeof CircuitBreakerPolicy>[0];
}

export const holdfast: Required<Adapter> = {
  name: 'holdfast',
  version: installedVersion('holdfast'),
  settings: {},
  signals: true,
  states: true,
  retry: (spec) => retry(spec),
  timeout: (ms) => new OwnPolicy(new TimeoutPolicy({ timeout: ms })),
  breaker: (spec) => {
    const policy = new CircuitBreakerPolicy(breakerOptions(spec));
    const own = new OwnPolicy(policy);
    return Object.assign(own, {
      state: () => policy.state,
      onState: (listener: (state: 'closed' | 'open' | 'half-open') => void) =>
        void policy.subscribe((event) => {
          if (event.type === 'circuit-open') listener('open');
          if (event.type === 'circuit-half-open') listener('half-open');
          if (event.type === 'circuit-closed') listener('closed');
        }),
      callsInWindow: () => policy.stats.total,
    });
  },
  bulkhead: ({ limit, queue = PLENTY }) => {
    const policy = new BulkheadPolicy({ maxConcurrent: limit, maxQueue: queue });
    return Object.assign(new OwnPolicy(policy), { running: () => policy.active, waiting: () => policy.queued });
  },
  rateLimit: ({ limit, intervalMs, maxWaitMs = 0 }) =>
    new OwnPolicy(new OutboundRateLimitPolicy({ limit, interval: intervalMs, maxWait: maxWaitMs })),
  budget: ({ ms }) => new OwnPolicy(new BudgetPolicy({ budget: ms })),
  fallback: ({ answer, handleIf }) =>
    new OwnPolicy(new FallbackPolicy(answer, handleIf === undefined ? {} : { handleIf })),
  wrap: (...policies) =>
    policies.every((policy) => policy instanceof OwnPolicy)
      ? new OwnPolicy(ResiliencePolicy.wrap(...policies.map(({ policy }) => policy)))
      : // What is not a policy of ours, as a mutant's, is the work of the one around it.
        nested(policies),
  refusal: (error) => (error instanceof RejectionError ? { retryAfterMs: error.retryAfterMs } : undefined),
  isTimeout: (error) => error instanceof ResilienceTimeoutError || error instanceof DeadlineExceededError,
  // Callers get their own reasons.
  isCancelled: () => false,
};

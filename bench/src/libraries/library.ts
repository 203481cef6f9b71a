import type { Call } from '../sides.js';

/** What libraries are compared in: a policy around a call that succeeds at once. */
export type Feature =
  | 'retry'
  | 'timeout'
  | 'circuit-breaker'
  | 'bulkhead'
  | 'rate-limit'
  | 'fallback'
  /** Fallback, retry, circuit breaker, timeout and bulkhead, in this order. */
  | 'five-stages';

/** Makes a policy and gives one call under it, as directly as the library's documentation calls it. */
export type MakeCall = () => Call;

/** What a library has not got is missing. */
export type Library = Readonly<Partial<Record<Feature, MakeCall>>>;

/** With the first one. */
export const ATTEMPTS = 3;
export const TIMEOUT_MS = 2_000;
export const BREAKER = { failureRate: 50, minimumCalls: 10, calls: 20, openMs: 30_000 };
export const BULKHEAD = { limit: 10, queue: 10 };
/** Far more calls than any run makes, so that none of them waits. */
export const RATE_LIMIT = { limit: 1_000_000_000, intervalMs: 1_000 };

/** Durations of which a service under this policy has a timer pending. */
export const PENDING_MS: Readonly<Partial<Record<Feature, readonly number[]>>> = {
  timeout: [TIMEOUT_MS],
  'five-stages': [TIMEOUT_MS],
  'rate-limit': [RATE_LIMIT.intervalMs],
};

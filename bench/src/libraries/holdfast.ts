import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  createPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  RetryPolicy,
  TimeoutPolicy,
  type ResiliencePolicy,
} from 'holdfast';
import { answerAtOnce, type Call } from '../sides.js';
import { ATTEMPTS, BREAKER, BULKHEAD, RATE_LIMIT, TIMEOUT_MS, type Feature, type MakeCall } from './library.js';

const circuitBreaker = {
  failureRateThreshold: BREAKER.failureRate,
  minimumCalls: BREAKER.minimumCalls,
  slidingWindow: { type: 'count', size: BREAKER.calls },
  openDuration: BREAKER.openMs,
} as const;
const bulkhead = { maxConcurrent: BULKHEAD.limit, maxQueue: BULKHEAD.queue };

function under(policy: ResiliencePolicy): Call {
  return () => policy.execute(answerAtOnce);
}

export const holdfast: Readonly<Record<Feature, MakeCall>> = {
  retry: () => under(new RetryPolicy({ attempts: ATTEMPTS })),
  timeout: () => under(new TimeoutPolicy(TIMEOUT_MS)),
  'circuit-breaker': () => under(new CircuitBreakerPolicy(circuitBreaker)),
  bulkhead: () => under(new BulkheadPolicy(bulkhead)),
  'rate-limit': () => under(new OutboundRateLimitPolicy({ limit: RATE_LIMIT.limit, interval: RATE_LIMIT.intervalMs })),
  fallback: () => under(new FallbackPolicy(() => 0)),
  'five-stages': () =>
    under(
      createPolicy({
        fallback: () => 0,
        retry: { attempts: ATTEMPTS },
        circuitBreaker,
        timeout: TIMEOUT_MS,
        bulkhead,
      }),
    ),
};

import {
  bulkhead,
  circuitBreaker,
  CountBreaker,
  fallback,
  handleAll,
  retry,
  timeout,
  TimeoutStrategy,
  wrap,
} from 'cockatiel';
import { createPolicy } from 'holdfast';
import { answerAtOnce, type Sides } from '../sides.js';

const TIMEOUT_MS = 2_000;

/**
 * Fallback, retry, breaker, timeout and bulkhead around a call that succeeds. Cockatiel's timeout is the aggressive
 * one: only that one, like ours, settles at the limit whatever the work does.
 */
export function fiveStages(): Sides {
  const ours = createPolicy({
    fallback: () => 0,
    retry: { attempts: 3 },
    circuitBreaker: { failureRateThreshold: 50, minimumCalls: 10, openDuration: '30s' },
    timeout: TIMEOUT_MS,
    bulkhead: { maxConcurrent: 10, maxQueue: 10 },
  });
  const theirs = wrap(
    fallback(handleAll, () => 0),
    retry(handleAll, { maxAttempts: 2 }),
    circuitBreaker(handleAll, {
      halfOpenAfter: 30_000,
      breaker: new CountBreaker({ threshold: 0.5, size: 20, minimumNumberOfCalls: 10 }),
    }),
    timeout(TIMEOUT_MS, TimeoutStrategy.Aggressive),
    bulkhead(10, 10),
  );

  return {
    ours: () => ours.execute(answerAtOnce),
    other: () => theirs.execute(answerAtOnce),
    bare: answerAtOnce,
    pendingMs: [TIMEOUT_MS],
  };
}

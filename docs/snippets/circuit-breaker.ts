import { fetchQuotes, type Quote } from './carrier.js';
// #region usage
import { CircuitBreakerPolicy, createPolicy } from 'holdfast';

export const breaker = new CircuitBreakerPolicy({
  name: 'carrier',
  failureRateThreshold: 50,
  minimumCalls: 10,
  openDuration: '30s',
});
const carrier = createPolicy({ circuitBreaker: breaker, timeout: '2s' }, 'carrier');

export function getQuotes(orderId: string): Promise<readonly Quote[]> {
  return carrier.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion

// #region slow
export const watchful = new CircuitBreakerPolicy({
  name: 'carrier',
  slowCallDuration: '1s',
  slowCallRateThreshold: 80,
  consecutiveFailures: 5,
  openDuration: '10s',
  openBackoff: { factor: 2, maxDuration: '2m', jitter: 'equal' },
});
// #endregion

// #region each-call-wrong
export function getQuotesOnce(orderId: string): Promise<readonly Quote[]> {
  const fresh = new CircuitBreakerPolicy({ minimumCalls: 10 });

  return fresh.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion

// #region no-limit-wrong
export const withoutLimit = createPolicy({ circuitBreaker: { minimumCalls: 10 } });
// #endregion

// #region no-limit-right
export const withLimit = createPolicy({ circuitBreaker: { minimumCalls: 10 }, timeout: '2s' });
// #endregion

// #region all-errors-wrong
export const offended = new CircuitBreakerPolicy({ minimumCalls: 10, recordIf: () => true });
// #endregion

import { isClientError } from 'holdfast';
class OutOfStockError extends Error {}

// #region all-errors-right
export const fair = new CircuitBreakerPolicy({
  minimumCalls: 10,
  recordIf: (error) => !isClientError(error) && !(error instanceof OutOfStockError),
});
// #endregion
export const outOfStock = new OutOfStockError('There is no more of it');

// #region operator
export function describeBreaker(): string {
  const { failures, total, failureRate } = breaker.stats;

  return `${breaker.name} is ${breaker.state}: ${failures} of ${total} calls failed (${failureRate} %)`;
}
// #endregion

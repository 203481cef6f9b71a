import { fetchQuotes, flatRates, type Quote } from './carrier.js';
// #region usage
import { CircuitOpenError, createPolicy } from 'holdfast';

export const carrier = createPolicy({
  timeout: '2s',
  circuitBreaker: { minimumCalls: 10 },
  fallback: {
    handler: () => flatRates,
    handleIf: (error) => error instanceof CircuitOpenError,
  },
});

export function getQuotes(orderId: string): Promise<readonly Quote[]> {
  return carrier.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion

// #region again-wrong
export const asksAgain = createPolicy({
  timeout: '2s',
  fallback: (_error, { signal }) => fetchQuotes('1001', signal),
});
// #endregion

// #region again-right
export const asksNobody = createPolicy({ timeout: '2s', fallback: () => flatRates });
// #endregion

import { ResilienceError } from 'holdfast';

// #region bugs-wrong
export const hidesBugs = createPolicy({ timeout: '2s', fallback: () => flatRates });
// #endregion

// #region bugs-right
export const showsBugs = createPolicy({
  timeout: '2s',
  fallback: { handler: () => flatRates, handleIf: (error) => error instanceof ResilienceError },
});
// #endregion

const readCache = (signal: AbortSignal): Promise<readonly Quote[]> => fetchQuotes('cached', signal);

// #region limitless-wrong
export const limitless = createPolicy({
  timeout: '2s',
  fallback: (_error, { signal }) => readCache(signal),
});
// #endregion

// #region limitless-right
const cache = createPolicy({ timeout: '200ms', fallback: () => flatRates }, 'quote-cache');

export const limited = createPolicy({
  timeout: '2s',
  fallback: () => cache.execute(({ signal }) => readCache(signal)),
});
// #endregion

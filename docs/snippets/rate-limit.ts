import { fetchQuotes, type Quote } from './carrier.js';
// #region usage
import { createPolicy, OutboundRateLimitPolicy } from 'holdfast';

export const contract = new OutboundRateLimitPolicy({ name: 'carrier', limit: 5, interval: '1s', maxWait: '400ms' });
const carrier = createPolicy({ outboundRateLimit: contract, timeout: '2s' }, 'carrier');

export function getQuotes(orderId: string): Promise<readonly Quote[]> {
  return carrier.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion

// #region burst-wrong
// The contract: at most 100 calls in any minute.
export const bursting = new OutboundRateLimitPolicy({ limit: 100, interval: '1m', maxWait: '1m' });
// #endregion

// #region burst-right
export const even = new OutboundRateLimitPolicy({ limit: 9, interval: '6s', maxWait: '1m' });
// #endregion

const INSTANCES = 4;

// #region fleet-wrong
export const perProcess = new OutboundRateLimitPolicy({ limit: 100, interval: '1s' });
// #endregion

// #region fleet-right
export const share = new OutboundRateLimitPolicy({ limit: Math.floor(100 / INSTANCES), interval: '1s' });
// #endregion

// #region retry-wrong
export const retried = createPolicy({
  retry: { attempts: 5, backoff: { delay: '200ms', factor: 1 } },
  outboundRateLimit: { limit: 5, interval: '1s' },
});
// #endregion

// #region retry-right
export const waiting = createPolicy({
  retry: 2,
  outboundRateLimit: { limit: 5, interval: '1s', maxWait: '1s' },
});
// #endregion

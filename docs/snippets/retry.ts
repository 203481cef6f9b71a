import { fetchQuotes, type Quote } from './carrier.js';
// #region usage
import { RetryPolicy } from 'holdfast';

const patient = new RetryPolicy({ attempts: 3, backoff: { delay: '100ms', maxDelay: '1s' } });

export function getQuotes(orderId: string): Promise<readonly Quote[]> {
  return patient.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion
import { isNetworkError } from 'holdfast';

interface Booking {
  readonly state: 'pending' | 'done';
}

// #region results
const untilDone = new RetryPolicy({
  attempts: 10,
  backoff: { delay: '1s', factor: 1 },
  retryOnResult: (booking) => (booking as Booking).state === 'pending',
});

export function waitForBooking(look: (signal: AbortSignal) => Promise<Booking>): Promise<Booking> {
  return untilDone.execute(({ signal }) => look(signal));
}
// #endregion

// #region everything-wrong
export const everything = new RetryPolicy({ attempts: 3, retryIf: () => true });
// #endregion

// #region everything-right
export const onlyTheNetwork = new RetryPolicy({ attempts: 3, retryIf: isNetworkError });
// #endregion

// #region at-once-wrong
export const atOnce = new RetryPolicy({ attempts: 10, backoff: { delay: 0 } });
// #endregion

// #region at-once-right
export const spread = new RetryPolicy({ attempts: 3, backoff: { delay: '200ms', maxDelay: '2s' } });
// #endregion

// #region swallowed-wrong
export function swallowed(orderId: string): Promise<readonly Quote[]> {
  return patient.execute(async ({ signal }) => {
    try {
      return await fetchQuotes(orderId, signal);
    } catch {
      return [];
    }
  });
}
// #endregion

// #region swallowed-right
export async function outside(orderId: string): Promise<readonly Quote[]> {
  try {
    return await patient.execute(({ signal }) => fetchQuotes(orderId, signal));
  } catch {
    return [];
  }
}
// #endregion

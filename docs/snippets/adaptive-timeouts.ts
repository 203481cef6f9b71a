import { fetchQuotes, type Quote } from './carrier.js';
// #region usage
import { adaptive, createPolicy } from 'holdfast';

export const carrierLimit = adaptive({ initial: '2s', min: '50ms', max: '4s' });
const carrier = createPolicy({ retry: 2, timeout: carrierLimit }, 'carrier');

export function getQuotes(orderId: string): Promise<readonly Quote[]> {
  return carrier.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion

// #region shadow
export const learned: number[] = [];

export const watched = createPolicy({
  timeout: adaptive({ initial: '2s', shadow: true, onLimit: (limitMs) => void learned.push(limitMs) }),
});
// #endregion

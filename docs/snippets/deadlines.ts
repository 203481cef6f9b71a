import { fetchQuotes, type Quote } from './carrier.js';
// #region usage
import { createPolicy } from 'holdfast';

const carrier = createPolicy(
  {
    budget: '3s', // all attempts, waits and queues together
    retry: { attempts: 3, backoff: { delay: '200ms', jitter: 'none' } },
    timeout: '1.5s', // each attempt
  },
  'carrier',
);

export function getQuotes(orderId: string): Promise<readonly Quote[]> {
  return carrier.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion

// #region inherited
import { BudgetPolicy } from 'holdfast';

const page = new BudgetPolicy({ name: 'page', budget: '1s' });

/** Both calls end with the page, whatever their own limits say. */
export function getPage(): Promise<readonly (readonly Quote[])[]> {
  return page.execute(() => Promise.all([getQuotes('1001'), getQuotes('1002')]));
}
// #endregion

// #region call
export function getQuotesQuickly(orderId: string): Promise<readonly Quote[]> {
  return carrier.execute(({ signal }) => fetchQuotes(orderId, signal), { budget: '500ms' });
}
// #endregion

// #region headers
import { deadlineHeaderValue, readDeadline } from 'holdfast';

const TRUSTED = ['x-request-timeout-ms'];

/** What the caller will wait, but never more than we would. */
export function budgetOf(headers: Readonly<Record<string, string | undefined>>): number {
  return Math.min(readDeadline(TRUSTED, (name) => headers[name]) ?? Infinity, 2_000);
}

export function headersOfCall(): Promise<Record<string, string>> {
  return page.execute(({ deadline }) => ({
    ...(deadline && { 'x-request-timeout-ms': deadlineHeaderValue('x-request-timeout-ms', deadline) }),
  }));
}
// #endregion

// #region sum-wrong
/** The page waits up to 2 s for what it promised within 1 s: the second call does not know of the first. */
export async function getPageInTurn(): Promise<readonly Quote[]> {
  const first = await fetchWithin('1001');
  return first.length > 0 ? first : fetchWithin('1002');
}

const eachSecond = createPolicy({ timeout: '1s' });
const fetchWithin = (orderId: string): Promise<readonly Quote[]> =>
  eachSecond.execute(({ signal }) => fetchQuotes(orderId, signal));
// #endregion

import { fetchQuotes, type Quote } from './carrier.js';
// #region usage
import { TimeoutPolicy } from 'holdfast';

const twoSeconds = new TimeoutPolicy('2s');

export function getQuotes(orderId: string): Promise<readonly Quote[]> {
  return twoSeconds.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion

// #region both
import { ResiliencePolicy, RetryPolicy } from 'holdfast';

export const bounded = ResiliencePolicy.wrap(
  new TimeoutPolicy('4s'), // all attempts together, waits included
  new RetryPolicy({ attempts: 3, backoff: { delay: '200ms' } }),
  new TimeoutPolicy('1.5s'), // each attempt
);
// #endregion

// #region growing
import { createPolicy } from 'holdfast';

export const growing = createPolicy({
  retry: { attempts: 3, backoff: { delay: '100ms' } },
  timeout: (attempt) => attempt * 500,
});
// #endregion

// #region deaf-wrong
export function deaf(orderId: string): Promise<readonly Quote[]> {
  return twoSeconds.execute(() => fetchQuotes(orderId));
}
// #endregion

// #region race-wrong
export function raced(orderId: string): Promise<readonly Quote[]> {
  return Promise.race([
    fetchQuotes(orderId),
    new Promise<never>((_, reject) => setTimeout(() => reject(new Error('too late')), 2_000)),
  ]);
}
// #endregion

type Write = (page: number) => Promise<void>;

// #region steps-right
export function exportPages(pages: number, write: Write): Promise<void> {
  return twoSeconds.execute(async ({ signal }) => {
    for (let page = 1; page <= pages; page++) {
      signal.throwIfAborted();
      await write(page);
    }
  });
}
// #endregion

// #region off-wrong
export const noLimit = (): TimeoutPolicy => new TimeoutPolicy(0);
// #endregion

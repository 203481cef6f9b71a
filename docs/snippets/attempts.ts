import { fetchQuotes, type Quote } from './carrier.js';
// #region inherited
import { createPolicy } from 'holdfast';

const route = createPolicy({ timeout: '1s' }, 'route');
const service = createPolicy({ retry: { attempts: 5, backoff: { delay: '100ms' } } }, 'service');

// The service takes no signal: it is inside the route's attempt, and ends with it.
const askService = (orderId: string): Promise<readonly Quote[]> =>
  service.execute(({ signal }) => fetchQuotes(orderId, signal));

export const askRoute = (orderId: string): Promise<readonly Quote[]> => route.execute(() => askService(orderId));
// #endregion

// #region joined
export function askUntil(orderId: string, shutdown: AbortSignal): Promise<readonly Quote[]> {
  return service.execute(({ signal }) => fetchQuotes(orderId, signal), { signal: shutdown });
}
// #endregion

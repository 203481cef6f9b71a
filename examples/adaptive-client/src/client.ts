import { get } from './get.js';
// #region client
import { adaptive, createPolicy, type AdaptiveTimeout, type ResiliencePolicy } from 'holdfast';

/** A client of one dependency. `trusted` are certificates in PEM; without it those that Node knows are trusted. */
export function createClient(trusted?: string): AdaptiveClient {
  // Few calls a second: what is twenty calls old should hardly count. `max` is what a call to a dead server may cost.
  const limit = adaptive({ initial: '500ms', min: '20ms', max: '500ms', halfLife: 5 });
  const policy = createPolicy({ retry: { attempts: 4, backoff: { delay: '5ms' } }, timeout: limit }, 'upstream');

  return { limit, policy, call: (url) => policy.execute(({ signal }) => get(url, { signal, ca: trusted })) };
}
// #endregion

export interface AdaptiveClient {
  readonly limit: AdaptiveTimeout;
  readonly policy: ResiliencePolicy;
  /** Rejects with the error of the last attempt. */
  call(url: URL): Promise<string>;
}

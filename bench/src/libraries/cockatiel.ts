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
  type IPolicy,
} from 'cockatiel';
import { answerAtOnce, type Call } from '../sides.js';
import { ATTEMPTS, BREAKER, BULKHEAD, TIMEOUT_MS, type Library } from './library.js';

const retrying = (): IPolicy => retry(handleAll, { maxAttempts: ATTEMPTS - 1 });
/** The aggressive one: only that, like ours, settles at the limit whatever the work does. */
const limited = (): IPolicy => timeout(TIMEOUT_MS, TimeoutStrategy.Aggressive);
const breaking = (): IPolicy =>
  circuitBreaker(handleAll, {
    halfOpenAfter: BREAKER.openMs,
    breaker: new CountBreaker({
      threshold: BREAKER.failureRate / 100,
      size: BREAKER.calls,
      minimumNumberOfCalls: BREAKER.minimumCalls,
    }),
  });
const capped = (): IPolicy => bulkhead(BULKHEAD.limit, BULKHEAD.queue);

function under(policy: { execute(work: typeof answerAtOnce): Promise<number> }): Call {
  return () => policy.execute(answerAtOnce);
}

export const cockatiel: Library = {
  retry: () => under(retrying()),
  timeout: () => under(limited()),
  'circuit-breaker': () => under(breaking()),
  bulkhead: () => under(capped()),
  fallback: () => under(fallback(handleAll, () => 0)),
  'five-stages': () =>
    under(
      wrap(
        fallback(handleAll, () => 0),
        retrying(),
        breaking(),
        limited(),
        capped(),
      ),
    ),
};

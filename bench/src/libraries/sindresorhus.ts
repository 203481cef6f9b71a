import PQueue from 'p-queue';
import pRetry from 'p-retry';
import pTimeout from 'p-timeout';
import { answerAtOnce, type Call } from '../sides.js';
import { ATTEMPTS, BULKHEAD, RATE_LIMIT, TIMEOUT_MS, type Library } from './library.js';

function inQueue(queue: PQueue): Call {
  return () => queue.add(answerAtOnce);
}

/** Not `strict`, which is a sliding window and costs more: a limit that is never reached needs none. */
const intervalCap = { intervalCap: RATE_LIMIT.limit, interval: RATE_LIMIT.intervalMs };

/** p-retry, p-timeout and p-queue. */
export const sindresorhus: Library = {
  retry: () => () => pRetry(answerAtOnce, { retries: ATTEMPTS - 1 }),
  timeout: () => () => pTimeout(answerAtOnce(), { milliseconds: TIMEOUT_MS }),
  bulkhead: () => inQueue(new PQueue({ concurrency: BULKHEAD.limit })),
  'rate-limit': () => inQueue(new PQueue(intervalCap)),
};

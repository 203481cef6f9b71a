import { OutboundRateLimitPolicy } from 'holdfast';
import PQueue from 'p-queue';
import { answerAtOnce, type Sides } from '../sides.js';

/** Far more calls than any run makes, so that none of them waits. */
const NEVER_REACHED = 1_000_000_000;
const INTERVAL_MS = 1_000;

/** A rate limit that is never reached, against the interval cap of p-queue. */
export function rateLimit(): Sides {
  const ours = new OutboundRateLimitPolicy({ limit: NEVER_REACHED, interval: INTERVAL_MS });
  const theirs = new PQueue({ intervalCap: NEVER_REACHED, interval: INTERVAL_MS });

  return {
    ours: () => ours.execute(answerAtOnce),
    other: () => theirs.add(answerAtOnce),
    bare: answerAtOnce,
    pendingMs: [INTERVAL_MS],
  };
}

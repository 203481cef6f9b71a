import type { Guarantee } from '../guarantee.js';
import { BREAKER_COUNTING } from './breaker-counting.js';
import { BREAKER_HALF_OPEN } from './breaker-half-open.js';
import { BREAKER_OPENING } from './breaker-opening.js';
import { BUDGET } from './budget.js';
import { BULKHEAD_QUEUE } from './bulkhead-queue.js';
import { BULKHEAD_SLOTS } from './bulkhead-slots.js';
import { FALLBACK } from './fallback.js';
import { RATE_LIMIT } from './rate-limit.js';
import { RETRY_ABORTS } from './retry-aborts.js';
import { RETRY_WAITS } from './retry-waits.js';
import { RETRY } from './retry.js';
import { TIMEOUT_ABORTS } from './timeout-aborts.js';
import { TIMEOUT } from './timeout.js';
import { WRAP_SLOTS } from './wrap-slots.js';
import { WRAP } from './wrap.js';

/** All of them, by policy. */
export const GUARANTEES: readonly Guarantee[] = [
  ...RETRY,
  ...RETRY_WAITS,
  ...RETRY_ABORTS,
  ...TIMEOUT,
  ...TIMEOUT_ABORTS,
  ...BREAKER_COUNTING,
  ...BREAKER_OPENING,
  ...BREAKER_HALF_OPEN,
  ...BULKHEAD_SLOTS,
  ...BULKHEAD_QUEUE,
  ...RATE_LIMIT,
  ...BUDGET,
  ...FALLBACK,
  ...WRAP,
  ...WRAP_SLOTS,
];

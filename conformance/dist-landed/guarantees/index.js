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
/** By the file in which their scenarios are, by policy. */
export const BY_FILE = {
    retry: RETRY,
    'retry-waits': RETRY_WAITS,
    'retry-aborts': RETRY_ABORTS,
    timeout: TIMEOUT,
    'timeout-aborts': TIMEOUT_ABORTS,
    'breaker-counting': BREAKER_COUNTING,
    'breaker-opening': BREAKER_OPENING,
    'breaker-half-open': BREAKER_HALF_OPEN,
    'bulkhead-slots': BULKHEAD_SLOTS,
    'bulkhead-queue': BULKHEAD_QUEUE,
    'rate-limit': RATE_LIMIT,
    budget: BUDGET,
    fallback: FALLBACK,
    wrap: WRAP,
    'wrap-slots': WRAP_SLOTS,
};
/** All of them, by policy. */
export const GUARANTEES = Object.values(BY_FILE).flat();
//# sourceMappingURL=index.js.map
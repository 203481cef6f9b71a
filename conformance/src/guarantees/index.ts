import type { Guarantee } from '../guarantee.js';
import { BREAKER_COUNTING } from './breaker-counting.js';
import { BREAKER_HALF_OPEN } from './breaker-half-open.js';
import { BREAKER_OPENING } from './breaker-opening.js';
import { BULKHEAD_QUEUE } from './bulkhead-queue.js';
import { BULKHEAD_SLOTS } from './bulkhead-slots.js';
import { RATE_LIMIT } from './rate-limit.js';
import { TIMEOUT } from './timeout.js';

/** All of them, by policy. */
export const GUARANTEES: readonly Guarantee[] = [
  ...TIMEOUT,
  ...BREAKER_COUNTING,
  ...BREAKER_OPENING,
  ...BREAKER_HALF_OPEN,
  ...BULKHEAD_SLOTS,
  ...BULKHEAD_QUEUE,
  ...RATE_LIMIT,
];

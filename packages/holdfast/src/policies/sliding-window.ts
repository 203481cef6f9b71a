import { parseDuration, type Duration } from '../duration.js';
import { rejectUnknown, requireCount, requireObject, requireOneOf } from '../options.js';

/** Which calls a circuit breaker looks at: the last `size` ones, or those of the last `size` of time. */
export type SlidingWindowOptions =
  | { readonly type: 'count'; /** Whole, from 1 to 10,000,000. */ readonly size: number }
  | { readonly type: 'time'; /** Greater than 0. */ readonly size: Duration };

export interface ResolvedSlidingWindow {
  readonly type: 'count' | 'time';
  /** Calls, or milliseconds. */
  readonly size: number;
}

/** Counts the outcomes of a window; knows nothing of a breaker's states. All costs are constant. */
export interface SlidingWindow {
  /** Calls in the window at `now`. */
  total(now: number): number;
  failures(now: number): number;
  slow(now: number): number;
  /** Whether none of them failed or was slow. */
  isSpotless(now: number): boolean;
  record(outcome: Outcome, now: number): void;
}

export interface Outcome {
  readonly failed: boolean;
  readonly slow: boolean;
}

/** What nearly every call is. */
export const FINE: Outcome = { failed: false, slow: false };

/** A window of more calls is no recent past; it would only cost memory. */
const LARGEST_COUNT = 10_000_000;

/** @throws TypeError naming the option. */
export function resolveSlidingWindow(options: SlidingWindowOptions): ResolvedSlidingWindow {
  requireObject(options, '', "Use { type: 'count', size: 20 } or { type: 'time', size: '10s' }.");
  rejectUnknown(options, ['type', 'size']);
  const type = requireOneOf(options.type, 'type', ['count', 'time']);
  if (type === 'time') return { type, size: parseDuration(options.size, 'size', { positive: true }) };

  return { type, size: requireCount(options.size, 'size', { min: 1, max: LARGEST_COUNT }) };
}

export function createSlidingWindow({ type, size }: ResolvedSlidingWindow): SlidingWindow {
  return type === 'count' ? new CountWindow(size) : new TimeWindow(size);
}

const FAILED = 1;
const SLOW = 2;
const FIRST_CAPACITY = 32;

/** The last `size` outcomes, in a ring that grows to that size as calls come. */
class CountWindow implements SlidingWindow {
  readonly #size: number;
  #ring: Uint8Array;
  #next = 0;
  #total = 0;
  #failures = 0;
  #slow = 0;

  constructor(size: number) {
    this.#size = size;
    this.#ring = new Uint8Array(Math.min(size, FIRST_CAPACITY));
  }

  total(): number {
    return this.#total;
  }

  failures(): number {
    return this.#failures;
  }

  slow(): number {
    return this.#slow;
  }

  isSpotless(): boolean {
    return this.#failures === 0 && this.#slow === 0;
  }

  record({ failed, slow }: Outcome): void {
    if (this.#total < this.#size) this.#makeRoom();
    const outcome = (failed ? FAILED : 0) | (slow ? SLOW : 0);
    // A place that was never used counts as a good call, so that it can be replaced like one.
    const replaced = this.#ring[this.#next] as number;
    if (outcome !== replaced) {
      this.#ring[this.#next] = outcome;
      this.#count(replaced, -1);
      this.#count(outcome, 1);
    }
    this.#next = this.#next + 1 === this.#size ? 0 : this.#next + 1;
  }

  #count(outcome: number, by: 1 | -1): void {
    if ((outcome & FAILED) !== 0) this.#failures += by;
    if ((outcome & SLOW) !== 0) this.#slow += by;
  }

  #makeRoom(): void {
    this.#total += 1;
    if (this.#total <= this.#ring.length) return;

    const larger = new Uint8Array(Math.min(this.#size, this.#ring.length * 2));
    larger.set(this.#ring);
    this.#ring = larger;
  }
}

const BUCKETS = 10;
/** In milliseconds. The clock counts from the epoch, and has no digits left for much less. */
const NARROWEST_BUCKET = 1e-3;

interface Bucket {
  /** Which stretch of time since the epoch it counts. */
  index: number;
  total: number;
  failures: number;
  slow: number;
}

/** The outcomes of the last `size` milliseconds, in ten buckets aligned to the epoch: a call counts for 0.9 to 1 sizes. */
class TimeWindow implements SlidingWindow {
  readonly #width: number;
  readonly #buckets: Bucket[] = Array.from({ length: BUCKETS }, () => ({ index: -1, total: 0, failures: 0, slow: 0 }));

  constructor(size: number) {
    this.#width = Math.max(size / BUCKETS, NARROWEST_BUCKET);
  }

  total(now: number): number {
    return this.#sum('total', now);
  }

  failures(now: number): number {
    return this.#sum('failures', now);
  }

  slow(now: number): number {
    return this.#sum('slow', now);
  }

  isSpotless(now: number): boolean {
    return this.#sum('failures', now) === 0 && this.#sum('slow', now) === 0;
  }

  record({ failed, slow }: Outcome, now: number): void {
    const index = Math.floor(now / this.#width);
    const bucket = this.#buckets[index % BUCKETS] as Bucket;
    if (bucket.index !== index) Object.assign(bucket, { index, total: 0, failures: 0, slow: 0 });
    bucket.total += 1;
    if (failed) bucket.failures += 1;
    if (slow) bucket.slow += 1;
  }

  #sum(field: 'total' | 'failures' | 'slow', now: number): number {
    const oldest = Math.floor(now / this.#width) - BUCKETS;
    let sum = 0;
    for (const bucket of this.#buckets) if (bucket.index > oldest) sum += bucket[field];

    return sum;
  }
}

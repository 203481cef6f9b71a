/**
 * Estimators of how long a dependency takes. They know latencies and return milliseconds; recording and reading cost
 * the same whatever they have seen.
 */

export interface LatencyEstimator {
  /** A call that was answered after so many milliseconds. */
  record(latencyMs: number): void;
  /** A call that was cut: it would have taken at least so long. */
  recordCut(limitMs: number): void;
  /** The limit that follows from what was seen, before floor and ceiling. */
  limitMs(): number;
}

export interface QuantileOptions {
  /** The share of calls that are to be answered in time, above 0 and below 1. */
  readonly quantile: number;
  readonly factor: number;
  /** How many samples later a sample counts half. */
  readonly halfLife: number;
}

/** Buckets grow by this ratio, so that a quantile is off by two percent at most. */
const RATIO = 1.04;
const LOG_RATIO = Math.log(RATIO);
/** From a tenth of a millisecond to more than a day. */
const LEAST = 0.1;
const BUCKETS = 540;
const UPPER_BOUNDS = Float64Array.from({ length: BUCKETS }, (_, bucket) => LEAST * RATIO ** (bucket + 1));
/** Weights grow instead of all older ones shrinking; before they overflow they are all scaled down. */
const LARGEST_WEIGHT = 1e150;

/**
 * A quantile of recent latencies times a factor, over a histogram with logarithmic buckets in which old samples fade.
 * A cut call counts at its limit, so a step up in latency multiplies the limit by the factor until calls fit again.
 */
export class QuantileEstimator implements LatencyEstimator {
  readonly #options: QuantileOptions;
  readonly #growth: number;
  readonly #weights = new Float64Array(BUCKETS);
  #weight = 1;
  #total = 0;
  /** The bucket that holds the quantile, and the weight of all before it. */
  #at = 0;
  #before = 0;

  constructor(options: QuantileOptions) {
    this.#options = options;
    this.#growth = 2 ** (1 / options.halfLife);
  }

  record(latencyMs: number): void {
    const bucket = bucketOf(latencyMs);
    this.#weight *= this.#growth;
    this.#total += this.#weight;
    this.#weights[bucket] = (this.#weights[bucket] as number) + this.#weight;
    if (bucket < this.#at) this.#before += this.#weight;
    this.#settle();
    if (this.#weight > LARGEST_WEIGHT) this.#scaleDown();
  }

  recordCut(limitMs: number): void {
    this.record(limitMs);
  }

  limitMs(): number {
    return (UPPER_BOUNDS[this.#at] as number) * this.#options.factor;
  }

  /** Moves to the bucket of the quantile; it is rarely far. */
  #settle(): void {
    const wanted = this.#total * this.#options.quantile;
    while (this.#at > 0 && this.#before >= wanted) {
      this.#at -= 1;
      this.#before -= this.#weights[this.#at] as number;
    }
    while (this.#at < BUCKETS - 1 && this.#before + (this.#weights[this.#at] as number) < wanted) {
      this.#before += this.#weights[this.#at] as number;
      this.#at += 1;
    }
  }

  /** Adds everything up anew, which also ends what rounding has summed up to. */
  #scaleDown(): void {
    this.#total = this.#before = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const weight = (this.#weights[bucket] as number) / this.#weight;
      this.#weights[bucket] = weight;
      this.#total += weight;
      if (bucket < this.#at) this.#before += weight;
    }
    this.#weight = 1;
  }
}

function bucketOf(latencyMs: number): number {
  if (latencyMs <= LEAST) return 0;

  return Math.min(BUCKETS - 1, Math.floor(Math.log(latencyMs / LEAST) / LOG_RATIO));
}

const SMOOTHING = 1 / 8;
const DEVIATION_SMOOTHING = 1 / 4;
const DEVIATIONS = 6;

/**
 * TCP's retransmission timeout (RFC 6298): the smoothed mean plus a multiple of the smoothed deviation, doubled by each
 * cut until a call is answered. Six deviations in place of the four of TCP, which repeats a packet for less than we
 * give up a call for: with four about two of a hundred good calls would be cut.
 */
export class RetransmissionEstimator implements LatencyEstimator {
  #mean = 0;
  #deviation = 0;
  #backoff = 1;
  #seen = false;

  record(latencyMs: number): void {
    this.#backoff = 1;
    if (!this.#seen) {
      this.#seen = true;
      this.#mean = latencyMs;
      this.#deviation = latencyMs / 2;
      return;
    }

    this.#deviation += DEVIATION_SMOOTHING * (Math.abs(this.#mean - latencyMs) - this.#deviation);
    this.#mean += SMOOTHING * (latencyMs - this.#mean);
  }

  recordCut(limitMs: number): void {
    const backoff = this.#backoff * 2;
    // The call took at least that long; else a success right after would forget the step.
    if (this.#seen && limitMs > this.#mean) this.record(limitMs);
    this.#backoff = backoff;
  }

  limitMs(): number {
    return (this.#mean + DEVIATIONS * this.#deviation) * this.#backoff;
  }
}

/**
 * The mean of the last samples, or of the later half of them where that is more, times a factor, doubled by each cut
 * until a call is answered. The later half sees a step up within half the calls, and the whole forgets it no sooner.
 */
export class MeanEstimator implements LatencyEstimator {
  readonly #factor: number;
  readonly #samples: RecentSum;
  readonly #later: RecentSum;
  #backoff = 1;

  constructor(samples: number, factor: number) {
    this.#factor = factor;
    this.#samples = new RecentSum(samples);
    this.#later = new RecentSum(Math.ceil(samples / 2));
  }

  record(latencyMs: number): void {
    this.#backoff = 1;
    this.#push(latencyMs);
  }

  recordCut(limitMs: number): void {
    this.#backoff *= 2;
    this.#push(limitMs);
  }

  limitMs(): number {
    return Math.max(this.#samples.mean, this.#later.mean) * this.#factor * this.#backoff;
  }

  #push(latencyMs: number): void {
    this.#samples.push(latencyMs);
    this.#later.push(latencyMs);
  }
}

/** The latest so many values, with their sum. */
class RecentSum {
  readonly #values: Float64Array;
  #count = 0;
  #next = 0;
  #sum = 0;

  constructor(size: number) {
    this.#values = new Float64Array(size);
  }

  /** 0 of none. */
  get mean(): number {
    return this.#sum / Math.max(1, this.#count);
  }

  push(value: number): void {
    const size = this.#values.length;
    if (this.#count === size) this.#sum -= this.#values[this.#next] as number;
    else this.#count += 1;
    this.#values[this.#next] = value;
    this.#sum += value;
    this.#next = (this.#next + 1) % size;
  }
}

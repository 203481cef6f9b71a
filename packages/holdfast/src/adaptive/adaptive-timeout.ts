import { parseDuration, type Duration } from '../duration.js';
import { reportError } from '../events.js';
import {
  OptionError,
  rejectUnknown,
  requireBoolean,
  requireCount,
  requireFactor,
  requireFunction,
  requireObject,
  requireOneOf,
  show,
} from '../options.js';
import {
  MeanEstimator,
  QuantileEstimator,
  RetransmissionEstimator,
  type LatencyEstimator,
} from './latency-estimators.js';

export interface AdaptiveTimeoutOptions {
  /**
   * How the limit follows from latencies: a quantile of them times `factor`; `'rto'`, TCP's rule (RFC 6298), the
   * smoothed mean plus six deviations; or the mean of the last `samples`, or of the later half of them where that is
   * more, times `factor`. Default `'quantile'`.
   */
  readonly estimator?: 'quantile' | 'rto' | 'mean' | undefined;
  /** How many calls are seen before the limit leaves `initial`: whole, at least 1. Default 10. */
  readonly samples?: number | undefined;
  /** Finite, at least 1. Default 2. Not used by `'rto'`. */
  readonly factor?: number | undefined;
  /** For `'quantile'`: above 0 and below 1. Default 0.99. */
  readonly quantile?: number | undefined;
  /** For `'quantile'`: after how many further calls a call counts half. Whole, at least 1. Default 25. */
  readonly halfLife?: number | undefined;
  /** The limit until enough calls were seen. Greater than 0; default `'5s'`. */
  readonly initial?: Duration | undefined;
  /** The floor. Greater than 0; default `'10ms'`. */
  readonly min?: Duration | undefined;
  /** The ceiling. Default `'30s'`. */
  readonly max?: Duration | undefined;
  /** Only report what the limit would be, and go on with `initial`. Default `false`. */
  readonly shadow?: boolean | undefined;
  /** Told of the limit after every call that was recorded, in milliseconds. */
  readonly onLimit?: ((limitMs: number) => void) | undefined;
}

const KNOWN = ['estimator', 'samples', 'factor', 'quantile', 'halfLife', 'initial', 'min', 'max', 'shadow', 'onLimit'];

/**
 * A limit that learns from the latencies of the calls that it limits. One object for one dependency: use it wherever a
 * timeout goes, in several policies too.
 */
export class AdaptiveTimeout {
  /** In milliseconds: no call is given more. */
  readonly maxMs: number;
  readonly #minMs: number;
  readonly #initialMs: number;
  readonly #samples: number;
  readonly #shadow: boolean;
  readonly #onLimit: ((limitMs: number) => void) | undefined;
  readonly #estimator: LatencyEstimator;
  #seen = 0;
  #reported = false;

  /** @throws TypeError naming the option. */
  constructor(options: AdaptiveTimeoutOptions = {}) {
    requireObject(options, '', "Use adaptive({ initial: '5s' }).");
    rejectUnknown(options, KNOWN);
    const { initial = 5_000, min = 10, max = 30_000, samples = 10, shadow = false, onLimit } = options;
    this.#initialMs = parseDuration(initial, 'initial', { positive: true });
    this.#minMs = parseDuration(min, 'min', { positive: true });
    this.maxMs = parseDuration(max, 'max', { positive: true });
    this.#samples = requireCount(samples, 'samples', { min: 1, max: 1_000_000 });
    this.#shadow = requireBoolean(shadow, 'shadow');
    this.#onLimit = onLimit === undefined ? undefined : requireFunction(onLimit, 'onLimit');
    this.#estimator = createEstimator(options, this.#samples);
    requireOrder(this.#minMs, this.#initialMs, this.maxMs);
  }

  /** The limit that calls get now, in milliseconds. */
  get limitMs(): number {
    return this.#shadow ? this.#initialMs : this.learnedMs;
  }

  /** What the limit is, or in shadow mode would be. */
  get learnedMs(): number {
    if (this.#seen < this.#samples) return this.#initialMs;

    return Math.min(this.maxMs, Math.max(this.#minMs, this.#estimator.limitMs()));
  }

  /**
   * A call that was answered after `latencyMs`: finite; what is below 0 counts as 0.
   *
   * @throws TypeError
   */
  record(latencyMs: number): void {
    const sample = requireLatency(latencyMs, 'latencyMs');
    this.#seen += 1;
    this.#estimator.record(sample);
    this.#tell();
  }

  /**
   * A call that was cut at `limitMs`: had it been let go on, it would have taken at least that long. Finite; what is below
   * 0 counts as 0.
   *
   * @throws TypeError
   */
  recordCut(limitMs: number): void {
    const sample = requireLatency(limitMs, 'limitMs');
    this.#seen += 1;
    this.#estimator.recordCut(sample);
    this.#tell();
  }

  /** Whatever comes of it, the outcome of the call stands. */
  #tell(): void {
    if (this.#onLimit === undefined) return;

    try {
      this.#onLimit(this.learnedMs);
    } catch (error) {
      if (!this.#reported) reportError('onLimit of an adaptive timeout failed (reported once)', error);
      this.#reported = true;
    }
  }
}

/**
 * A timeout that learns, for wherever a timeout goes: `timeout: adaptive({ initial: '2s', max: '10s' })`.
 *
 * @throws TypeError naming the option.
 */
export function adaptive(options: AdaptiveTimeoutOptions = {}): AdaptiveTimeout {
  return new AdaptiveTimeout(options);
}

function createEstimator(options: AdaptiveTimeoutOptions, samples: number): LatencyEstimator {
  const { estimator = 'quantile', factor: givenFactor = 2, quantile = 0.99, halfLife: givenHalfLife = 25 } = options;
  const kind = requireOneOf(estimator, 'estimator', ['quantile', 'rto', 'mean']);
  const factor = requireFactor(givenFactor, 'factor');
  const halfLife = requireCount(givenHalfLife, 'halfLife', { min: 1 });
  requireQuantile(quantile);
  if (kind === 'rto') return new RetransmissionEstimator();
  if (kind === 'mean') return new MeanEstimator(samples, factor);

  return new QuantileEstimator({ quantile, factor, halfLife });
}

/** No estimator would ever forget a NaN, and a limit of NaN ends calls at once. A clock that is moved back gives less than 0. */
function requireLatency(value: unknown, path: string): number {
  if (Number.isFinite(value)) return Math.max(0, value as number);

  throw new OptionError(path, `expected a finite number of milliseconds, got ${show(value)}.`);
}

function requireQuantile(value: unknown): void {
  if (typeof value === 'number' && value > 0 && value < 1) return;

  throw new OptionError('quantile', `expected a number above 0 and below 1, such as 0.99, got ${show(value)}.`);
}

function requireOrder(minMs: number, initialMs: number, maxMs: number): void {
  if (minMs > maxMs) throw new OptionError('min', `${minMs} ms is above max, which is ${maxMs} ms.`);
  if (initialMs >= minMs && initialMs <= maxMs) return;

  throw new OptionError(
    'initial',
    `${initialMs} ms is not between min (${minMs} ms) and max (${maxMs} ms). Give an initial that is.`,
  );
}

import { seeded } from '../seeded.js';

/** What sets the limit of each call and is told what came of it; `AdaptiveTimeout` is one. */
export interface LimitRule {
  readonly limitMs: number;
  record(latencyMs: number): void;
  recordCut(limitMs: number): void;
}

export interface CallOutcome {
  /** Whether it was a usual call, not one of the {@link Spikes}. */
  readonly good: boolean;
  readonly cut: boolean;
}

/** Calls that take much longer than the others. */
export interface Spikes {
  /** How many of all calls, from 0 to 1. */
  readonly share: number;
  /** How many times as long; `Infinity` is never answered. */
  readonly times: number;
}

const MEDIAN_MS = 100;
/** Of the logarithm: the 99th percentile is 1.6 times the median. */
const SPREAD = 0.2;
const NO_SPIKES: Spikes = { share: 0, times: 1 };

/** A server in virtual time: latencies are drawn, calls are cut at the limit, and nothing is waited for. */
export class VirtualServer {
  /** What latencies are multiplied by. */
  scale = 1;
  spikes = NO_SPIKES;
  readonly #rule: LimitRule;
  readonly #random: () => number;

  /** Two servers of one seed draw the same latencies, whatever their rules make of them. */
  constructor(rule: LimitRule, seed: number) {
    this.#rule = rule;
    this.#random = seeded(seed);
  }

  /** The latency below which 99 of 100 usual calls stay: that of the distribution, not of a sample. */
  get p99Ms(): number {
    return this.scale * MEDIAN_MS * Math.exp(SPREAD * 2.326);
  }

  call(): CallOutcome {
    const good = this.#random() >= this.spikes.share;
    const latencyMs = this.scale * MEDIAN_MS * Math.exp(SPREAD * this.#normal()) * (good ? 1 : this.spikes.times);
    const { limitMs } = this.#rule;
    const cut = latencyMs > limitMs;
    if (cut) this.#rule.recordCut(limitMs);
    else this.#rule.record(latencyMs);

    return { good, cut };
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
  }
}

import type { AdaptiveTimeout } from './adaptive-timeout.js';

/** A server in virtual time: latencies are drawn, calls are cut at the limit, and nothing is waited for. */
export class VirtualServer {
  /** What latencies are multiplied by. */
  scale = 1;
  calls = 0;
  cuts = 0;
  readonly #limit: AdaptiveTimeout;
  readonly #random: () => number;

  constructor(limit: AdaptiveTimeout, seed: number) {
    this.#limit = limit;
    this.#random = seeded(seed);
  }

  /** The latency below which 99 of 100 calls stay: that of the distribution, not of a sample. */
  get p99(): number {
    return this.scale * MEDIAN_MS * Math.exp(SPREAD * 2.326);
  }

  call(): void {
    const latencyMs = this.scale * MEDIAN_MS * Math.exp(SPREAD * this.#normal());
    const limitMs = this.#limit.limitMs;
    this.calls += 1;
    if (latencyMs <= limitMs) {
      this.#limit.record(latencyMs);
    } else {
      this.cuts += 1;
      this.#limit.recordCut(limitMs);
    }
  }

  run(calls: number): void {
    for (let call = 0; call < calls; call++) this.call();
  }

  /** How many calls until the limit is above `wantedMs`, and how many of them were cut; gives up after `most`. */
  callsUntilAbove(wantedMs: number, most: number): { readonly calls: number; readonly cuts: number } {
    const { calls, cuts } = this;
    while (this.#limit.limitMs <= wantedMs && this.calls - calls < most) this.call();

    return { calls: this.calls - calls, cuts: this.cuts - cuts };
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
  }
}

const MEDIAN_MS = 100;
/** Of the logarithm: the 99th percentile is 1.6 times the median. */
const SPREAD = 0.2;

/** Mulberry32: the same numbers for the same seed, everywhere. */
function seeded(seed: number): () => number {
  let state = seed;

  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

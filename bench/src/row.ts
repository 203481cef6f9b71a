import type { Sides } from './sides.js';

/**
 * - `ratio`: our time over the other side's.
 * - `difference`: our time minus the other side's, in microseconds.
 * - `lateness`: how long after the other side ours has its answer, in milliseconds.
 * - `count`: how often one of our calls asks another server.
 * - `memory`: what one of our calls allocates, in kilobytes.
 * - `held`: what one of our objects keeps alive, in bytes.
 * - `throughput`: our calls per second over the other side's.
 */
export type Measure = 'ratio' | 'difference' | 'lateness' | 'count' | 'memory' | 'held' | 'throughput';

export interface Target {
  /** For Node 20 and 22. */
  readonly node20: number;
  /** From Node 24 on. */
  readonly node24: number;
}

/** A row's place in a series: the same thing among more and more of its kind. */
export interface Growth {
  /** What is repeated, such as "leave by abort". The rows of a series have it in common. */
  readonly of: string;
  /** How many there are on our side; the other side has `over`. */
  readonly size: number;
  readonly over: number;
}

export interface Row {
  readonly id: string;
  readonly title: string;
  /** What the other side is. */
  readonly against: string;
  readonly measure: Measure;
  /** Whether Node's promise hooks are on: the same on both sides, except in the row that shows their price. */
  readonly hooks: 'off' | 'on' | 'on-in-ours';
  /** Missing where a row only informs. */
  readonly target?: Target;
  /** Whether a call is a request to a server. */
  readonly overSockets?: true;
  /** Whether less time is enough: what is looked for is far larger than the noise. */
  readonly brief?: true;
  /** Whether the young generation is so large that next to no slice has a collection in it. */
  readonly uncollected?: true;
  readonly growth?: Growth;
  /** Loaded in the measured process only, so that no other case leaves traces in it. */
  readonly sides: () => Promise<Sides>;
}

/** The same on every Node. */
export const always = (limit: number): Target => ({ node20: limit, node24: limit });

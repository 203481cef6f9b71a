import type { Spikes } from './virtual-server.js';

/** A stretch of the server's life. */
export interface Phase {
  readonly name: PhaseName;
  readonly calls: number;
  /** What latencies are multiplied by, at a point of the phase from 0 to 1. */
  readonly scale: (progress: number) => number;
  readonly spikes?: Spikes;
  /** Whether the server is as it was while it was steady, after something else. */
  readonly isReturn?: true;
}

export type PhaseName =
  | 'first calls'
  | 'steady'
  | 'step x2'
  | 'back from x2'
  | 'step x5'
  | 'back from x5'
  | 'drift to x3'
  | 'back from drift'
  | 'spikes'
  | 'back from spikes'
  | 'half hang'
  | 'back from hanging';

const at =
  (scale: number): Phase['scale'] =>
  () =>
    scale;

const RETURN = { calls: 200, scale: at(1), isReturn: true } as const;

/** In their order; each begins with what the one before has taught. */
export const PHASES: readonly Phase[] = [
  { name: 'first calls', calls: 300, scale: at(1) },
  { name: 'steady', calls: 2_000, scale: at(1) },
  { name: 'step x2', calls: 1_000, scale: at(2) },
  { name: 'back from x2', ...RETURN },
  { name: 'step x5', calls: 1_000, scale: at(5) },
  { name: 'back from x5', ...RETURN },
  { name: 'drift to x3', calls: 1_000, scale: (progress) => 1 + 2 * progress },
  { name: 'back from drift', ...RETURN },
  { name: 'spikes', calls: 1_000, scale: at(1), spikes: { share: 0.01, times: 20 } },
  { name: 'back from spikes', ...RETURN },
  // One of two servers behind a balancer accepts calls and answers none.
  { name: 'half hang', calls: 200, scale: at(1), spikes: { share: 0.5, times: Infinity } },
  { name: 'back from hanging', ...RETURN },
];

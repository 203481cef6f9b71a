import { describe, expect, it } from 'vitest';
import { adaptive, type AdaptiveTimeout } from './adaptive-timeout.js';
import { VirtualServer } from './virtual-server.model.js';

type Kind = 'quantile' | 'rto' | 'mean';

const SEEDS = Array.from({ length: 100 }, (_, index) => index + 1);

function warm(estimator: Kind, seed: number): { readonly limit: AdaptiveTimeout; readonly server: VirtualServer } {
  const limit = adaptive({ estimator });
  const server = new VirtualServer(limit, seed);
  server.run(300);

  return { limit, server };
}

describe.each(['quantile', 'rto', 'mean'] as const)('on a server that is steady, %s', (estimator) => {
  it('cuts at most two of a hundred good calls', () => {
    for (const seed of SEEDS) {
      const { server } = warm(estimator, seed);
      const before = server.cuts;
      server.run(2_000);

      expect((server.cuts - before) / 2_000, `seed ${seed}`).toBeLessThanOrEqual(0.02);
    }
  });

  it('stays within a few times the 99th percentile', () => {
    for (const seed of SEEDS) {
      const { limit, server } = warm(estimator, seed);

      expect(limit.limitMs / server.p99, `seed ${seed}`).toBeLessThan(4);
    }
  });
});

describe.each([
  ['quantile', 5],
  ['rto', 5],
  // The mean of ten samples is that slow.
  ['mean', 10],
] as const)('after a step to twice the latency, %s', (estimator, calls) => {
  it(`gives the new 99th percentile its time within ${calls} calls`, () => {
    for (const seed of SEEDS) {
      const { server } = warm(estimator, seed);
      server.scale = 2;

      expect(server.callsUntilAbove(server.p99, 100).calls, `seed ${seed}`).toBeLessThanOrEqual(calls);
    }
  });
});

describe.each(['quantile', 'rto', 'mean'] as const)('after a step to five times the latency, %s', (estimator) => {
  it('gives the new 99th percentile its time within ten calls, or three that are cut', () => {
    for (const seed of SEEDS) {
      const { server } = warm(estimator, seed);
      server.scale = 5;
      const { calls, cuts } = server.callsUntilAbove(server.p99, 100);

      expect(calls <= 10 || cuts <= 3, `seed ${seed}: ${calls} calls, ${cuts} cut`).toBe(true);
    }
  });

  it('cuts hardly any call from then on', () => {
    for (const seed of SEEDS) {
      const { server } = warm(estimator, seed);
      server.scale = 5;
      server.run(50);
      const before = server.cuts;
      server.run(1_000);

      expect((server.cuts - before) / 1_000, `seed ${seed}`).toBeLessThanOrEqual(0.02);
    }
  });

  it('is back below twice the old limit within 200 calls at the old latency', () => {
    for (const seed of SEEDS) {
      const { limit, server } = warm(estimator, seed);
      const before = limit.limitMs;
      server.scale = 5;
      server.run(200);
      server.scale = 1;
      server.run(200);

      expect(limit.limitMs / before, `seed ${seed}`).toBeLessThan(2);
    }
  });
});

import { describe, expect, it } from 'vitest';
import { median } from '../statistics.js';
import type { PhaseName } from './phases.js';
import { simulate, type Report, type RuleName } from './simulation.js';

const SEEDS = Array.from({ length: 100 }, (_, index) => index + 1);
const LIVES = new Map(SEEDS.map((seed) => [seed, simulate(seed)]));

/** What one rule made of one phase, under every seed. */
function everySeed(rule: RuleName, phase: PhaseName, check: (report: Report, seed: string) => void): void {
  for (const [seed, reports] of LIVES) check(reportOf(reports, rule, phase), `seed ${seed}`);
}

function reportOf(reports: readonly Report[], rule: RuleName, phase: PhaseName): Report {
  return reports.find((report) => report.rule === rule && report.phase.name === phase) as Report;
}

/** Of all seeds: that of one seed at one moment may have just met an unusual call. */
function medianLimit(rule: RuleName, phase: PhaseName): number {
  return median([...LIVES.values()].map((reports) => reportOf(reports, rule, phase).limitMs));
}

describe.each(['quantile', 'rto', 'mean'] as const)('on a simulated server, %s', (rule) => {
  it('cuts at most two of a hundred good calls while it is steady', () => {
    everySeed(rule, 'steady', ({ goodCut }, seed) => expect(goodCut, seed).toBeLessThanOrEqual(0.02));
  });

  it('stays within four times the 99th percentile while it is steady', () => {
    everySeed(rule, 'steady', ({ limitMs, p99Ms }, seed) => expect(limitMs / p99Ms, seed).toBeLessThan(4));
  });

  it('gives calls of twice the latency their time within five calls', () => {
    everySeed(rule, 'step x2', ({ toAbove }, seed) => {
      expect(toAbove?.calls ?? Infinity, seed).toBeLessThanOrEqual(5);
    });
  });

  it('gives calls of five times the latency their time within ten calls, or three that are cut', () => {
    everySeed(rule, 'step x5', ({ toAbove }, seed) => {
      const { calls, cuts } = toAbove ?? { calls: Infinity, cuts: Infinity };
      expect(calls <= 10 || cuts <= 3, `${seed}: ${calls} calls, ${cuts} cut`).toBe(true);
    });
  });

  it('cuts hardly any call of five times the latency from then on', () => {
    everySeed(rule, 'step x5', ({ goodCutSettled }, seed) => expect(goodCutSettled, seed).toBeLessThanOrEqual(0.02));
  });

  it.each(['back from x2', 'back from x5', 'back from drift', 'back from spikes', 'back from hanging'] as const)(
    'is below twice the old limit within 200 calls, and then where it was: %s',
    (phase) => {
      everySeed(rule, phase, ({ toBack }, seed) => expect(toBack ?? Infinity, seed).toBeLessThanOrEqual(200));

      expect(medianLimit(rule, phase) / medianLimit(rule, 'steady')).toBeLessThan(1.2);
    },
  );

  it('is below twice the usual limit 200 calls after a step to five times the latency has ended', () => {
    const usualMs = medianLimit(rule, 'steady');

    everySeed(rule, 'back from x5', ({ limitMs }, seed) => expect(limitMs / usualMs, seed).toBeLessThan(2));
  });

  it('cuts hardly any good call while latency drifts to three times', () => {
    everySeed(rule, 'drift to x3', ({ goodCut }, seed) => expect(goodCut, seed).toBeLessThanOrEqual(0.02));
  });

  it('cuts hardly any good call among spikes', () => {
    everySeed(rule, 'spikes', ({ goodCut }, seed) => expect(goodCut, seed).toBeLessThanOrEqual(0.02));
  });

  it('climbs far above good calls when every second one is never answered, since what is cut may be slow', () => {
    everySeed(rule, 'half hang', ({ limitMs, p99Ms }, seed) => expect(limitMs / p99Ms, seed).toBeGreaterThan(5));
  });
});

describe('the naive rule', () => {
  it('cuts every call for a thousand calls after a step to five times the latency', () => {
    const { timeouts, toAbove, phase } = reportOf(simulate(1), 'naive', 'step x5');

    expect(phase.calls).toBe(1_000);
    expect(timeouts).toBe(1);
    expect(toAbove).toBeUndefined();
  });

  it('gives its first calls twice five seconds', () => {
    everySeed('naive', 'first calls', ({ timeouts, toAbove }, seed) => {
      expect(timeouts, seed).toBeLessThan(0.02);
      expect(toAbove, seed).toEqual({ calls: 0, cuts: 0 });
    });
  });

  it('stays where it is when every second call is never answered', () => {
    everySeed('naive', 'half hang', ({ limitMs, p99Ms }, seed) => expect(limitMs / p99Ms, seed).toBeLessThan(2));
  });
});

describe('the simulation', () => {
  it('gives the same for the same seed, and something else for another', () => {
    expect(simulate(7)).toEqual(LIVES.get(7));
    expect(simulate(7)).not.toEqual(LIVES.get(8));
  });
});

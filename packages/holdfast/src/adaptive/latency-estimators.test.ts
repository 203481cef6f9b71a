import { describe, expect, it } from 'vitest';
import {
  MeanEstimator,
  QuantileEstimator,
  RetransmissionEstimator,
  type LatencyEstimator,
} from './latency-estimators.js';

// How they do on latencies that vary is simulated, and held, beside the benches.

type Kind = 'quantile' | 'rto' | 'mean';

const quantile = (halfLife = 25): QuantileEstimator => new QuantileEstimator({ quantile: 0.99, factor: 2, halfLife });

function created(kind: Kind): LatencyEstimator {
  if (kind === 'quantile') return quantile();

  return kind === 'rto' ? new RetransmissionEstimator() : new MeanEstimator(10, 2);
}

function answered(estimator: LatencyEstimator, calls: number, latencyMs: number): void {
  for (let call = 0; call < calls; call++) estimator.record(latencyMs);
}

/** Calls that take `latencyMs` under whatever limit there is: answered, or cut. */
function call(estimator: LatencyEstimator, latencyMs: number): 'answered' | 'cut' {
  const limitMs = estimator.limitMs();
  if (latencyMs <= limitMs) {
    estimator.record(latencyMs);
    return 'answered';
  }

  estimator.recordCut(limitMs);
  return 'cut';
}

describe.each(['quantile', 'rto', 'mean'] as const)('an estimator, %s, that has seen 300 calls of 100 ms', (kind) => {
  function warm(): LatencyEstimator {
    const estimator = created(kind);
    answered(estimator, 300, 100);
    return estimator;
  }

  it('lets calls of five times that through after at most three cuts', () => {
    const estimator = warm();
    const outcomes = Array.from({ length: 10 }, () => call(estimator, 500));

    expect(outcomes.filter((outcome) => outcome === 'cut').length).toBeLessThanOrEqual(3);
    expect(outcomes[0]).toBe('cut');
    expect(outcomes.at(-1)).toBe('answered');
  });

  it('raises its limit with every cut, without end', () => {
    const estimator = warm();
    for (let cut = 0; cut < 12; cut++) {
      const before = estimator.limitMs();
      estimator.recordCut(before);
      expect(estimator.limitMs()).toBeGreaterThanOrEqual(before * 1.9);
    }

    expect(estimator.limitMs()).toBeGreaterThan(100_000);
  });

  it('is where it was within 200 calls after a step and back', () => {
    const estimator = warm();
    const before = estimator.limitMs();
    for (let slow = 0; slow < 50; slow++) call(estimator, 500);
    expect(estimator.limitMs()).toBeGreaterThan(500);
    answered(estimator, 200, 100);

    expect(estimator.limitMs() / before).toBeLessThan(1.05);
  });
});

describe('the quantile', () => {
  it('is that of the calls, within a bucket of four percent', () => {
    const estimator = new QuantileEstimator({ quantile: 0.5, factor: 1, halfLife: 1_000_000 });
    for (let latency = 1; latency <= 1_001; latency++) estimator.record(latency);

    expect(estimator.limitMs()).toBeGreaterThanOrEqual(501);
    expect(estimator.limitMs()).toBeLessThanOrEqual(501 * 1.04);
  });

  it('counts a call half after each half-life', () => {
    // The latest call has a fifteenth of all weight; 28 calls later it has less than a hundredth.
    const estimator = quantile(10);
    answered(estimator, 1_000, 100);
    estimator.record(1_000);
    answered(estimator, 27, 100);
    expect(estimator.limitMs()).toBeGreaterThan(2_000);
    answered(estimator, 1, 100);

    expect(estimator.limitMs()).toBeLessThan(210);
  });

  it('takes anything from nothing to days', () => {
    const estimator = quantile();
    answered(estimator, 100, 0);
    expect(estimator.limitMs()).toBeCloseTo(0.2, 1);
    answered(estimator, 300, 1e12);

    expect(Number.isFinite(estimator.limitMs())).toBe(true);
    expect(estimator.limitMs()).toBeGreaterThan(86_400_000);
  });
});

describe('the rule of TCP', () => {
  it('forgets the doubling with an answer, and not what the cut call has told', () => {
    const estimator = created('rto');
    answered(estimator, 300, 100);
    const before = estimator.limitMs();
    estimator.recordCut(400);
    const doubled = estimator.limitMs();
    estimator.record(100);

    expect(estimator.limitMs()).toBeLessThan(doubled / 2);
    expect(estimator.limitMs()).toBeGreaterThan(before * 2);
  });

  it('learns nothing but the doubling from a cut below what calls take', () => {
    const estimator = created('rto');
    answered(estimator, 300, 100);
    const before = estimator.limitMs();
    estimator.recordCut(50);

    expect(estimator.limitMs()).toBe(before * 2);
  });
});

describe('the mean', () => {
  it('is doubled by each cut until a call is answered, and counts cut calls with their limit', () => {
    const estimator = new MeanEstimator(2, 2);
    answered(estimator, 2, 100);
    estimator.recordCut(200);
    expect(estimator.limitMs()).toBe(200 * 2 * 2);
    estimator.recordCut(800);
    expect(estimator.limitMs()).toBe(800 * 2 * 4);
    estimator.record(100);

    expect(estimator.limitMs()).toBe(450 * 2);
  });

  it('is that of the later half of the samples while calls get slower, and of all while they get quicker', () => {
    const estimator = new MeanEstimator(10, 2);
    answered(estimator, 10, 100);
    answered(estimator, 5, 180);
    expect(estimator.limitMs()).toBe(360);
    answered(estimator, 5, 100);

    expect(estimator.limitMs()).toBe(280);
  });
});

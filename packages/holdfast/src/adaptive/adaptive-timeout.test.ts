import { describe, expect, it, vi } from 'vitest';
import { adaptive, type AdaptiveTimeout, type AdaptiveTimeoutOptions } from './adaptive-timeout.js';

/** A limit that has seen calls that took so long. */
function trained(options: AdaptiveTimeoutOptions, ...latencies: readonly number[]): AdaptiveTimeout {
  const limit = adaptive(options);
  for (const latency of latencies) limit.record(latency);

  return limit;
}

const calls = (count: number, latencyMs: number): number[] => Array.from({ length: count }, () => latencyMs);

describe('a learned limit', () => {
  it('is the initial one until enough calls were seen, cut ones included', () => {
    const limit = trained({ initial: 500 }, ...calls(8, 20));
    limit.recordCut(500);
    expect(limit.limitMs).toBe(500);

    limit.record(20);
    expect(limit.limitMs).not.toBe(500);
  });

  it('follows the quantile times the factor', () => {
    const limit = trained({ factor: 3 }, ...calls(50, 100));

    expect(limit.limitMs).toBeGreaterThanOrEqual(300);
    expect(limit.limitMs).toBeLessThanOrEqual(300 * 1.04);
  });

  it('follows the mean of the last samples times the factor', () => {
    expect(trained({ estimator: 'mean', samples: 4 }, 900, 100, 200, 100, 200).limitMs).toBe(300);
  });

  it('follows the smoothed mean plus six deviations', () => {
    // The first sample sets the deviation to half of itself; the second one is 0 away from the mean.
    expect(trained({ estimator: 'rto', samples: 1 }, 100).limitMs).toBe(100 + 6 * 50);
    expect(trained({ estimator: 'rto', samples: 1 }, 100, 100).limitMs).toBe(100 + 6 * 37.5);
  });

  it.each(['quantile', 'rto', 'mean'] as const)('never falls below the floor: %s', (estimator) => {
    expect(trained({ estimator, min: 50 }, ...calls(200, 0)).limitMs).toBe(50);
  });

  it.each(['quantile', 'rto', 'mean'] as const)('never rises above the ceiling: %s', (estimator) => {
    const limit = trained({ estimator, max: '6s' }, ...calls(20, 1_000));
    for (let cut = 0; cut < 2_000; cut++) limit.recordCut(limit.limitMs);

    expect(limit.limitMs).toBe(6_000);
    expect(limit.maxMs).toBe(6_000);
  });

  it.each(['quantile', 'rto', 'mean'] as const)('comes back from a long outage: %s', (estimator) => {
    const limit = trained({ estimator }, ...calls(20, 100));
    for (let cut = 0; cut < 5_000; cut++) limit.recordCut(limit.limitMs);
    for (const latency of calls(200, 100)) limit.record(latency);

    expect(limit.limitMs).toBeLessThan(500);
  });

  it('forgets nothing that counts when it has seen a great many calls', () => {
    const limit = trained({ halfLife: 1 }, ...calls(2_000, 100));

    expect(limit.limitMs).toBeCloseTo(208, -1);
  });

  it.each(['quantile', 'rto', 'mean'] as const)('learns nothing from what is no time: %s', (estimator) => {
    const limit = trained({ estimator, samples: 1 }, 100);
    const before = limit.limitMs;
    for (const value of [NaN, Infinity, -Infinity, '20', undefined, null, 20n] as number[]) {
      expect(() => limit.record(value)).toThrow(/^latencyMs: expected a finite number of milliseconds, got /);
      expect(() => limit.recordCut(value)).toThrow(/^limitMs: expected a finite number of milliseconds, got /);
      expect(() => limit.record(value)).toThrow(TypeError);
    }

    expect(limit.limitMs).toBe(before);
  });

  it.each(['quantile', 'rto', 'mean'] as const)('takes what ended before it began for nothing: %s', (estimator) => {
    const [odd, even] = [trained({ estimator, samples: 1 }, 100, -1e12), trained({ estimator, samples: 1 }, 100, 0)];

    expect(odd.limitMs).toBe(even.limitMs);
  });

  it('is only reported in shadow mode', () => {
    const seen: number[] = [];
    const limit = trained(
      { shadow: true, initial: 500, onLimit: (limitMs) => void seen.push(limitMs) },
      ...calls(12, 50),
    );

    expect(limit.limitMs).toBe(500);
    expect(limit.learnedMs).toBeLessThan(110);
    expect(seen).toHaveLength(12);
    expect(seen[8]).toBe(500);
    expect(seen[11]).toBe(limit.learnedMs);
  });

  it('stands whatever its listener does, which is told of once', () => {
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    const failing = (): never => {
      throw new Error('listener');
    };
    trained({ onLimit: failing }, 1, 2, 3);

    expect(report).toHaveBeenCalledTimes(1);
  });
});

describe('the options of a learned limit', () => {
  it.each([
    [{ estimator: 'median' }, "estimator: expected one of 'quantile', 'rto', 'mean', got \"median\"."],
    [{ samples: 0 }, 'samples: expected a whole number of at least 1'],
    [{ samples: Infinity }, 'samples: expected a whole number of at least 1'],
    [{ factor: 0.5 }, 'factor: expected a finite number of at least 1'],
    [{ quantile: 1 }, 'quantile: expected a number above 0 and below 1, such as 0.99, got 1.'],
    [{ quantile: NaN }, 'quantile: expected a number above 0 and below 1'],
    [{ halfLife: 0 }, 'halfLife: expected a whole number of at least 1'],
    [{ initial: 0 }, 'initial: '],
    [{ min: -1 }, 'min: '],
    [{ max: 'ever' }, 'max: '],
    [{ min: '1m', initial: '1m' }, 'min: 60000 ms is above max, which is 30000 ms.'],
    [{ initial: '1m' }, 'initial: 60000 ms is not between min (10 ms) and max (30000 ms). Give an initial that is.'],
    [{ max: '2s' }, 'initial: 5000 ms is not between min (10 ms) and max (2000 ms). Give an initial that is.'],
    [{ shadow: 'yes' }, 'shadow: expected true or false'],
    [{ onLimit: 5 }, 'onLimit: expected a function'],
    [{ sample: 5 }, 'sample: unknown option. Did you mean "samples"?'],
    [5, 'expected an options object, got a number.'],
  ])('are refused: %o', (options, message) => {
    expect(() => adaptive(options as AdaptiveTimeoutOptions)).toThrow(TypeError);
    expect(() => adaptive(options as AdaptiveTimeoutOptions)).toThrow(message);
  });
});

import { describe, expect, it } from 'vitest';
import { createSlidingWindow, FINE, resolveSlidingWindow, type Outcome, type SlidingWindow } from './sliding-window.js';

const success: Outcome = { failed: false, slow: false };
const failure: Outcome = { failed: true, slow: false };
const slowSuccess: Outcome = { failed: false, slow: true };
const slowFailure: Outcome = { failed: true, slow: true };
const kinds = [success, failure, slowSuccess, slowFailure];

const countsOf = (window: SlidingWindow, now: number): number[] => [
  window.total(now),
  window.failures(now),
  window.slow(now),
];
const counted = (outcomes: readonly Outcome[]): number[] => [
  outcomes.length,
  outcomes.filter((outcome) => outcome.failed).length,
  outcomes.filter((outcome) => outcome.slow).length,
];

describe.each([
  { type: 'count', size: 2 },
  { type: 'time', size: 1_000 },
] as const)('a window by $type', (options) => {
  it.each([
    ['failed', failure],
    ['was slow', slowSuccess],
    ['failed slowly', slowFailure],
  ])('is spotless until a call %s, and again when that one has left it', (_what, outcome) => {
    const window = createSlidingWindow(options);
    window.record(FINE, 0);
    expect(window.isSpotless(0)).toBe(true);
    expect(countsOf(window, 0)).toEqual([1, 0, 0]);

    window.record(outcome, 0);
    expect(window.isSpotless(0)).toBe(false);
    for (let call = 0; call < 2; call++) window.record(FINE, 1_000);
    expect(window.isSpotless(1_000)).toBe(true);
  });
});

describe('a count window', () => {
  it.each([1, 2, 31, 32, 33, 64, 100])('of %d calls holds the last ones, in any mix', (size) => {
    const window = createSlidingWindow({ type: 'count', size });
    const outcomes: Outcome[] = [];
    for (let call = 0; call < size * 3 + 5; call++) {
      const outcome = kinds[((call * call + call) % 7) % kinds.length] as Outcome;
      outcomes.push(outcome);
      window.record(outcome, 0);

      expect(countsOf(window, 0)).toEqual(counted(outcomes.slice(-size)));
    }
  });

  it('does not look at the time', () => {
    const window = createSlidingWindow({ type: 'count', size: 5 });
    window.record(failure, 0);

    expect(countsOf(window, 1e15)).toEqual([1, 1, 0]);
  });

  it('costs no more for a million calls than for ten', () => {
    const window = createSlidingWindow({ type: 'count', size: 10 });
    for (let call = 0; call < 1_000_000; call++) window.record(call % 2 === 0 ? failure : success, 0);

    expect(countsOf(window, 0)).toEqual([10, 5, 0]);
  });

  it('may hold ten million calls, and not one more', () => {
    expect(resolveSlidingWindow({ type: 'count', size: 10_000_000 })).toEqual({ type: 'count', size: 10_000_000 });
    expect(() => resolveSlidingWindow({ type: 'count', size: 10_000_001 })).toThrow(/^size: .*10000000/);
  });
});

describe('a time window', () => {
  it.each([
    [0, 1_000],
    [1, 1_000],
    [99, 1_000],
    [100, 1_100],
    [950, 1_900],
    [999, 1_900],
    [1_000, 2_000],
  ])('of a second forgets a call of moment %d at %d', (at, end) => {
    const window = createSlidingWindow({ type: 'time', size: 1_000 });
    window.record(slowFailure, at);

    expect(countsOf(window, end - 1)).toEqual([1, 1, 1]);
    expect(countsOf(window, end)).toEqual([0, 0, 0]);
  });

  it('holds what each of its ten parts holds', () => {
    const window = createSlidingWindow({ type: 'time', size: 100 });
    const outcomes = Array.from({ length: 100 }, (_, at) => ({ at, outcome: kinds[at % 4] as Outcome }));
    for (const { at, outcome } of outcomes) window.record(outcome, at);

    for (let now = 99; now <= 210; now++) {
      const kept = outcomes.filter(({ at }) => now - Math.floor(at / 10) * 10 < 100);
      expect(countsOf(window, now)).toEqual(counted(kept.map(({ outcome }) => outcome)));
    }
  });

  it('does not take a call of an earlier round for one of this', () => {
    const window = createSlidingWindow({ type: 'time', size: 1_000 });
    window.record(failure, 500);
    window.record(success, 5_550);

    expect(countsOf(window, 5_550)).toEqual([1, 0, 0]);
  });

  it.each([Number.MIN_VALUE, 1e-300, 1e-9])('of %d ms, which no clock can tell, counts and forgets', (size) => {
    const now = 1_800_000_000_000;
    const window = createSlidingWindow({ type: 'time', size });
    window.record(failure, now);

    expect([window.total(now), window.total(now + 1)]).toEqual([1, 0]);
  });

  it.each([0.5, 7, 333])('of %d ms keeps a call for 0.9 to 1 of its size', (size) => {
    const start = 1_800_000_000_000;
    for (let step = 0; step < 20; step++) {
      const at = start + (step * size) / 20;
      const window = createSlidingWindow({ type: 'time', size });
      window.record(failure, at);

      expect(window.total(at + size * 0.89)).toBe(1);
      expect(window.total(at + size * 1.01)).toBe(0);
    }
  });
});

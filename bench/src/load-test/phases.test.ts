import { describe, expect, it } from 'vitest';
import { seeded } from '../seeded.js';
import { arrivalsOf } from './open-loop.js';
import { CONDITIONS, schedule } from './phases.js';
import { ROUTE_NAMES, ROUTES } from './settings.js';

describe('What the dependency goes through', () => {
  const names = (seed: number, seconds: number): string[] => schedule(seed, seconds).map(({ condition }) => condition);

  it('is everything, round after round, and begins and ends well', () => {
    for (let seed = 0; seed < 50; seed++) {
      const drawn = names(seed, 40);

      expect(drawn[0]).toBe('up');
      expect(drawn.at(-1)).toBe('up');
      for (const condition of CONDITIONS) {
        expect(drawn.filter((name) => name === condition).length).toBeGreaterThanOrEqual(2);
      }
    }
  });

  it('is the same for one seed, and not for another', () => {
    expect(names(7, 40)).toEqual(names(7, 40));
    expect(names(8, 40)).not.toEqual(names(7, 40));
  });

  it('takes the time that it is given', () => {
    const sum = schedule(1, 30).reduce((total, { ms }) => total + ms, 0);

    expect(sum).toBeCloseTo(30_000);
  });
});

describe('Requests', () => {
  const MINUTE_MS = 60_000;
  const arrivals = arrivalsOf(MINUTE_MS, seeded(1));

  it('are due in order, within their phase', () => {
    const times = arrivals.map(({ atMs }) => atMs);

    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.every((atMs) => atMs >= 0 && atMs < MINUTE_MS)).toBe(true);
  });

  it.each(ROUTE_NAMES)('to %s come as often as is wanted, give or take a tenth', (name) => {
    const wanted = ROUTES[name].perSecond * 60;
    const count = arrivals.filter(({ route }) => route === name).length;

    expect(count).toBeGreaterThan(wanted * 0.9);
    expect(count).toBeLessThan(wanted * 1.1);
  });

  it('do not keep a distance: many come within a fifth of the usual one', () => {
    const quotes = arrivals.filter(({ route }) => route === 'quotes').map(({ atMs }) => atMs);
    const usualMs = 1_000 / ROUTES.quotes.perSecond;
    const close = quotes.filter((atMs, nth) => nth > 0 && atMs - (quotes[nth - 1] ?? 0) < usualMs / 5).length;

    // 1 - e^(-1/5) of those whose distances are drawn independently.
    expect(close / quotes.length).toBeGreaterThan(0.15);
    expect(close / quotes.length).toBeLessThan(0.21);
  });
});

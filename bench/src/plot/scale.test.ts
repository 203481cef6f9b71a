import { describe, expect, it } from 'vitest';
import { linearScale, logScale } from './scale.js';

describe('a linear scale', () => {
  const scale = linearScale({ from: 0, to: 200, at: [100, 0] });

  it('puts values where their share of the way is, also upwards', () => {
    expect([scale(0), scale(50), scale(200)]).toEqual([100, 75, 0]);
  });

  it('has ticks at multiples of a round number', () => {
    expect(scale.ticks).toEqual([0, 50, 100, 150, 200]);
    expect(linearScale({ from: 0.05, to: 0.31, at: [0, 1] }).ticks).toEqual([0.1, 0.2, 0.3]);
  });
});

describe('a scale of factors', () => {
  const scale = logScale({ from: 1, to: 10_000, at: [0, 400] });

  it('puts ten times as much as far on everywhere', () => {
    expect([1, 10, 100, 10_000].map((value) => Math.round(scale(value)))).toEqual([0, 100, 200, 400]);
  });

  it('has a tick at every power of ten within it', () => {
    expect(scale.ticks).toEqual([1, 10, 100, 1_000, 10_000]);
    expect(logScale({ from: 0.5, to: 125, at: [0, 1] }).ticks).toEqual([1, 10, 100]);
  });

  it('has ticks between these where there are few of them', () => {
    expect(logScale({ from: 0.5, to: 25, at: [0, 1] }).ticks).toEqual([0.5, 1, 2, 5, 10, 20]);
  });
});

import { describe, expect, it } from 'vitest';
import { calmHalf, median, percentile } from './statistics.js';

describe('the median', () => {
  it('is the middle value, whatever the order', () => {
    expect(median([9, 1, 5])).toBe(5);
  });

  it('is the mean of both middle values of an even number', () => {
    expect(median([1, 2, 4, 100])).toBe(3);
  });

  it('is not a number when there is nothing', () => {
    expect(median([])).toBeNaN();
  });
});

describe('the percentile', () => {
  it.each([
    [99, 198],
    [50, 100],
    [100, 200],
    [0.1, 1],
  ])('%d of two hundred values in any order is the %dth smallest', (percent, expected) => {
    const values = Array.from({ length: 200 }, (_, index) => ((index * 7) % 200) + 1);

    expect(percentile(values, percent)).toBe(expected);
  });

  it('is not a number when there is nothing', () => {
    expect(percentile([], 99)).toBeNaN();
  });
});

describe('the calm half', () => {
  it('is the pairs in which both sides together took the least time', () => {
    const slow = { ours: 10, other: 90 };
    const fast = { ours: 12, other: 20 };

    expect(calmHalf([slow, fast])).toEqual([fast]);
  });

  it('keeps the middle pair of an odd number', () => {
    const pairs = [3, 1, 2].map((time) => ({ ours: time, other: time }));

    expect(calmHalf(pairs).map((pair) => pair.ours)).toEqual([1, 2]);
  });
});

import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { growth, hundredBytes, MEGABYTE } from '../../test/heap.js';
import { fanOut } from './fan-out.js';
import { optional, required } from './section.js';

// Needs --expose-gc. Real time and the real collector: what they leave is the subject.

const down = new Error('down');

describe('a hundred thousand answers from three sections, on one long-lived signal', { timeout: 120_000 }, () => {
  const { signal } = new AbortController();
  let calls = 0;
  const product = required(() => Promise.resolve((calls += 1)));
  const sections = {
    product,
    reviews: optional(
      (context): unknown => {
        if (calls % 50 === 0) throw down;
        return calls % 5 === 0 ? Promise.resolve(context.signal.aborted) : calls;
      },
      { fallback: null },
    ),
    similar: optional(({ product }) => product, { after: { product }, fallback: null }),
  };

  async function answer(count: number, kept?: unknown[]): Promise<void> {
    for (let done = 0; done < count; done += 1_000) {
      const pages = Array.from({ length: 1_000 }, () => fanOut(sections, { budget: '1m', signal }));
      for (const { data } of await Promise.all(pages)) kept?.push([hundredBytes(), data.product]);
    }
  }

  it('leave no listener on it and nothing on the heap', async () => {
    expect(await growth(() => answer(100_000), 1)).toBeLessThan(MEGABYTE);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('are told from answers of which each leaves a hundred bytes', async () => {
    const kept: unknown[] = [];

    expect(await growth(() => answer(20_000, kept), 1)).toBeGreaterThan(MEGABYTE);
  });
});

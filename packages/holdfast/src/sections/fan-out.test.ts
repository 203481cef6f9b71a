import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SectionFailedError } from '../errors.js';
import { fanOut } from './fan-out.js';
import { optional, required } from './section.js';

interface Product {
  readonly id: number;
}

const never = <T>(): Promise<T> => new Promise(() => {});
const after = <T>(ms: number, value: T): Promise<T> => new Promise((r) => setTimeout(r, ms, value));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('fanOut', () => {
  it('answers with what there is', async () => {
    const page = fanOut(
      {
        product: required(() => after<Product>(100, { id: 7 }), { name: 'catalog', timeout: '800ms' }),
        reviews: optional(() => never<number>(), { timeout: '300ms', fallback: null }),
        similar: optional(async (): Promise<string[]> => Promise.reject(new Error('x')), { fallback: [] }),
      },
      { budget: '1s' },
    );
    await vi.advanceTimersByTimeAsync(300);
    const { data, degraded } = await page;
    const typed: { product: Product; reviews: number | null; similar: string[] } = { ...data };
    expect(typed).toEqual({ product: { id: 7 }, reviews: null, similar: [] });
    expect(degraded).toEqual([
      { section: 'reviews', reason: 'upstream_timeout', waitedMs: 300 },
      { section: 'similar', reason: 'upstream_error', waitedMs: 0 },
    ]);
  });

  it('fails with a required section', async () => {
    let signal: AbortSignal | undefined;
    const page = fanOut({
      a: required(() => Promise.reject(new Error('no')), { name: 'catalog', timeout: 100 }),
      b: optional((context) => ((signal = context.signal), never<number>()), { timeout: 100, fallback: 0 }),
    });
    await expect(page).rejects.toBeInstanceOf(SectionFailedError);
    await expect(page).rejects.toMatchObject({ message: 'catalog unavailable', status: 502, section: 'catalog' });
    expect(signal?.reason).toMatchObject({ code: 'SIBLING_FAILED', section: 'catalog' });
  });

  it('runs a section after others', async () => {
    const a = required(() => after(10, 'x'), { timeout: 100 });
    const page = fanOut(
      { a, b: optional(({ a }) => after(10, a.length), { after: { a }, timeout: 100, fallback: null }) },
      { concurrency: 1 },
    );
    await vi.advanceTimersByTimeAsync(20);
    expect(JSON.stringify(await page)).toBe('{"data":{"a":"x","b":1},"degraded":[],"partial":false}');
  });

  it('runs 1000 with a concurrency of 3', async () => {
    let running = 0,
      most = 0;
    const sections = Object.fromEntries(
      Array.from({ length: 1000 }, (_, i) => [
        `s${i}`,
        optional(
          async () => {
            most = Math.max(most, ++running);
            await after(1, 0);
            running--;
            return i;
          },
          { fallback: null },
        ),
      ]),
    );
    const page = fanOut(sections, { concurrency: 3, budget: '200ms' });
    await vi.advanceTimersByTimeAsync(200);
    const { degraded } = await page;
    expect(most).toBe(3);
    expect(degraded.length).toBeGreaterThan(300);
    expect(degraded.filter((d) => d.reason === 'budget_exhausted').length).toBeGreaterThan(390);
  });
});

import { describe, expect, it } from 'vitest';
import { useFakeClock } from '../../test/fake-clock.js';
import { fanOut } from './fan-out.js';
import { PartialResponse } from './partial-response.js';
import { optional } from './section.js';

useFakeClock();

const down = new Error('connect ECONNREFUSED 10.0.0.7:443');

const whole = (): Promise<PartialResponse<{ readonly stars: number }>> =>
  fanOut({ stars: optional(() => 4, { timeout: 10, fallback: 0 }) });

const partial = (): Promise<PartialResponse<{ readonly stars: number | null; readonly shop: string }>> =>
  fanOut({
    stars: optional((): number => thrown(down), { name: 'reviews', timeout: 10, fallback: null }),
    shop: optional(() => 'open', { timeout: 10, fallback: '' }),
  });

function thrown(error: unknown): never {
  throw error;
}

describe('a partial response', () => {
  it('is its data, what is missing of it, and whether anything is, as JSON', async () => {
    expect([(await whole()).partial, (await partial()).partial]).toEqual([false, true]);
    expect(JSON.stringify(await whole())).toBe('{"data":{"stars":4},"degraded":[],"partial":false}');
    expect(JSON.stringify(await partial())).toBe(
      '{"data":{"stars":null,"shop":"open"},' +
        '"degraded":[{"section":"reviews","reason":"upstream_error","waitedMs":0}],"partial":true}',
    );
  });

  it('has no message, host or stack of a failure in any of its fields', async () => {
    const page = await partial();
    const everything = JSON.stringify([page, page.data, page.degraded, page.timings]);

    expect(everything).not.toMatch(/ECONNREFUSED|10\.0\.0\.7|at |Error/);
  });

  it('says how long each section took, and why it is missing', async () => {
    expect((await partial()).timings).toEqual([
      { section: 'reviews', ms: 0, reason: 'upstream_error' },
      { section: 'shop', ms: 0 },
    ]);
  });

  it('keeps its marks when its body is reshaped, also twice', async () => {
    const page = await partial();
    const reshaped = page.map(({ data }) => ({ rating: data.stars }));
    const again = reshaped.map((inner) => ({ ...inner.toJSON(), missing: inner.degraded.length }));

    expect(JSON.stringify(again)).toBe('{"rating":null,"missing":1}');
    expect(again).toMatchObject({ partial: true, data: page.data, degraded: page.degraded, timings: page.timings });
    expect(JSON.parse(JSON.stringify(page))).toHaveProperty('partial', true);
  });

  it('shows nothing that its new body leaves out to whoever goes by its fields, as serializers do', async () => {
    const page = await partial();
    const reshaped = page.map(() => ({ open: true }));

    expect(Object.entries(reshaped)).toEqual([['degraded', page.degraded]]);
    expect(Object.keys(page)).toEqual(['data', 'degraded', 'timings']);
  });

  it('is reshaped at once, or not at all', async () => {
    const page = await whole();

    expect(() => page.map(undefined as never)).toThrow(/^reshape: expected a function/);
    expect(() => page.map(() => Promise.reject(down))).toThrow(/^reshape returned a Promise\. Return the body from it/);
    expect(() => page.map(() => thrown(down))).toThrow(down);
  });

  it('is recognised by its brand, across two copies of the package, and nothing else is', async () => {
    const foreign = { [Symbol.for('holdfast.partial-response')]: true };
    const hostile = new Proxy({}, { get: () => thrown(down) });

    expect((await whole()) instanceof PartialResponse).toBe(true);
    expect((foreign as unknown) instanceof PartialResponse).toBe(true);
    for (const value of [undefined, null, 'text', { data: 1, degraded: [], partial: false }, hostile]) {
      expect((value as unknown) instanceof PartialResponse).toBe(false);
    }
  });
});

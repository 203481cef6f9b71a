import { describe, expect, expectTypeOf, it } from 'vitest';
import type { PartialResponse } from './partial-response.js';
import { collect } from './collect.js';
import { fanOut, type SectionData } from './fan-out.js';
import { optional, required, type SectionDeclaration } from './section.js';

interface Product {
  readonly id: number;
  readonly name: string;
}
interface ReviewSummary {
  readonly stars: number;
}

const product = async (): Promise<Product> => ({ id: 7, name: 'lamp' });
const summary = async (): Promise<ReviewSummary> => ({ stars: 4 });
const similar = async (): Promise<Product[]> => [];
const LIMIT = { timeout: '300ms' } as const;

describe('the types of sections', () => {
  it('infer what each section is in the answer', () => {
    const sections = {
      product: required(({ signal }) => (signal.throwIfAborted(), product()), LIMIT),
      reviews: optional(({ signal }) => (signal.throwIfAborted(), summary()), { ...LIMIT, fallback: null }),
      similar: optional(similar, { ...LIMIT, fallback: [] }),
      computed: optional(similar, { ...LIMIT, fallback: (error) => (error instanceof Error ? [] : null) }),
      count: optional(() => 3, { ...LIMIT, fallback: 0 }),
    };
    expectTypeOf<SectionData<typeof sections>>().toEqualTypeOf<{
      readonly product: Product;
      readonly reviews: ReviewSummary | null;
      readonly similar: Product[];
      readonly computed: Product[] | null;
      readonly count: number;
    }>();
    const page = (): Promise<PartialResponse<SectionData<typeof sections>>> => fanOut(sections);
    expectTypeOf(page).returns.resolves.toHaveProperty('data');
  });

  it('infer it inside of the call too', async () => {
    const page = await fanOut({
      product: required(product, LIMIT),
      reviews: optional(summary, { ...LIMIT, fallback: null }),
    });
    expectTypeOf(page.data.reviews).toEqualTypeOf<ReviewSummary | null>();
    expectTypeOf(page.data.product).toEqualTypeOf<Product>();
    const { stars } = page.data.reviews ?? { stars: 0 };
    expect(stars).toBe(4);
    // @ts-expect-error: it may be missing.
    void page.data.reviews.stars;
    // @ts-expect-error: there is no such section.
    void page.data.review;
    // @ts-expect-error: there is no such reason.
    void page.degraded.some(({ reason }) => reason === 'timeout');
  });

  it('ask for a fallback that fits', () => {
    // @ts-expect-error: the fallback is missing.
    expect(() => optional(summary, LIMIT)).toThrow('fallback');
    // @ts-expect-error: a text is neither a summary nor null.
    optional(summary, { ...LIMIT, fallback: 'none' });
    // @ts-expect-error: and neither is this object.
    optional(summary, { ...LIMIT, fallback: { points: 4 } });
    // @ts-expect-error: nor what this function returns.
    optional(summary, { ...LIMIT, fallback: () => 'none' });
    // @ts-expect-error: a fallback is there at once.
    optional(summary, { ...LIMIT, fallback: async () => null });
  });

  it('give a section the values that it comes after', () => {
    const before = required(product, LIMIT);
    const maybe = optional(summary, { ...LIMIT, fallback: null });
    const section = optional(
      ({ signal, item, rating }) => {
        expectTypeOf(item).toEqualTypeOf<Product>();
        // It is skipped unless the other has a value of its own.
        expectTypeOf(rating).toEqualTypeOf<ReviewSummary>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        return item.name;
      },
      { ...LIMIT, after: { item: before, rating: maybe }, fallback: null },
    );
    expectTypeOf<SectionData<{ s: typeof section }>>().toEqualTypeOf<{ readonly s: string | null }>();
    // @ts-expect-error: it comes after no section of this name.
    optional(({ other }) => other, { ...LIMIT, after: { item: before }, fallback: null });
  });

  it('follow from a declaration', async () => {
    const STEPS = {
      revocation: { name: 'revocation', onFailure: 'closed', timeout: 200 },
      flags: { name: 'flags', onFailure: 'open', fallback: {}, timeout: 250 },
      geo: { name: 'geo', onFailure: 'open', fallback: null, timeout: 120 },
    } satisfies Record<string, SectionDeclaration>;
    const parts = collect({ budget: '1s' });
    const flags = await parts.step(STEPS.flags, async (): Promise<Record<string, boolean>> => ({ a: true }));
    expectTypeOf(flags).toEqualTypeOf<Record<string, boolean>>();
    const geo = await parts.step(STEPS.geo, () => 'NL');
    expectTypeOf(geo).toEqualTypeOf<string | null>();
    const revocation = await parts.step(STEPS.revocation, async () => ({ revoked: false }));
    expectTypeOf(revocation).toEqualTypeOf<{ revoked: boolean }>();
    const page = await parts.optional('page', similar, { fallback: [] });
    expectTypeOf(page).toEqualTypeOf<Product[]>();
    // @ts-expect-error: a step that fails open says what it is then.
    const open = { name: 'flags', onFailure: 'open', timeout: 250 } satisfies SectionDeclaration;
    await expect(parts.step(open as never, () => 1)).rejects.toThrow('fallback');
  });
});

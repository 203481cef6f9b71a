import { describe, expect, it } from 'vitest';
import type { DegradedSection } from './degraded.js';
import { degradedHeaders, isHeaderOfWholeAnswers, joinLists, refuseTakenHeader } from './degraded-headers.js';

const reviews: DegradedSection = { section: 'reviews', reason: 'upstream_timeout', waitedMs: 300 };
const flags: DegradedSection = { section: 'flags', reason: 'budget_exhausted', waitedMs: 0 };

const many = (count: number, section: string): DegradedSection[] =>
  Array.from({ length: count }, (_, at) => ({ section: `${section}${at}`, reason: 'skipped', waitedMs: 0 }));

describe('the headers of a degraded answer', () => {
  it('are none when it is whole', () => {
    expect(degradedHeaders([])).toEqual({});
    expect(degradedHeaders([], { name: 'x-edge-degraded' })).toEqual({});
  });

  it('list what is missing, in its order, and keep caches from storing it', () => {
    expect(degradedHeaders([reviews, flags])).toEqual({
      'x-degraded': 'reviews=upstream_timeout;300, flags=budget_exhausted;0',
      'cache-control': 'no-store',
    });
  });

  it('are called and worded as asked for', () => {
    const options = { name: 'x-edge-degraded', cacheControl: 'max-age=0, must-revalidate' };

    expect(degradedHeaders([flags], options)).toEqual({
      'x-edge-degraded': 'flags=budget_exhausted;0',
      'cache-control': 'max-age=0, must-revalidate',
    });
  });

  it('are fields that a server may send: tokens, and values of visible characters and single spaces', () => {
    for (const [name, value] of Object.entries(degradedHeaders([reviews, flags]))) {
      expect(name).toMatch(/^[a-z-]+$/);
      expect(value).toMatch(/^[!-~]+( [!-~]+)*$/);
    }
  });

  it('end, where the list would be too long, with how many they leave out', () => {
    const list = degradedHeaders(many(1_000, 'section-'))['x-degraded'] as string;
    const [more, ...listed] = list.split(', ').reverse();

    expect(list.length).toBeLessThan(2_048 + 30);
    expect(more).toBe(`*=more;${1_000 - listed.length}`);
    expect(listed.length).toBeGreaterThan(70);
  });

  it('have as much as 2,048 characters, and not one more', () => {
    const [first] = many(1, 'x'.repeat(2_037)) as [DegradedSection];
    const [longer] = many(1, 'x'.repeat(2_038)) as [DegradedSection];

    expect(degradedHeaders([first])['x-degraded']).toBe(`${first.section}=skipped;0`);
    expect(degradedHeaders([longer])['x-degraded']).toBe('*=more;1');
    expect(degradedHeaders([longer, flags])['x-degraded']).toBe('*=more;2');
  });

  it.each<[object | null, RegExp]>([
    [{ name: 'x degraded' }, /^name: "x degraded" is no name/],
    [{ name: '' }, /^name: "" is no name/],
    [{ name: 'Cache-Control' }, /^name: "Cache-Control" means something else in an answer/],
    [{ name: 'Server-Timing' }, /^name: "Server-Timing" means something else in an answer/],
    [{ name: 'etag' }, /^name: "etag" means something else in an answer\. Use 'x-degraded'\.$/],
    [{ cacheControl: '' }, /^cacheControl: expected a name/],
    [{ cacheControl: ' no-store' }, /^cacheControl: " no-store" can stand in no header\. Use 'no-store'\.$/],
    [{ cacheControl: 'no-store ' }, /^cacheControl: "no-store " can stand in no header/],
    [{ cacheControl: 'no-störe' }, /^cacheControl: "no-störe" can stand in no header/],
    [{ cacheControl: 'no-store\r\nx-other: 1' }, /^cacheControl: .* can stand in no header/],
    [{ header: 'x-degraded' }, /^header: unknown option/],
    [null, /^expected an options object, got null\. Use { name: 'x-degraded' }\.$/],
  ])('refuse %j, also for an answer that is whole', (options, message) => {
    expect(() => degradedHeaders([], options as object)).toThrow(message);
  });

  it.each(['a', 'private,\tno-cache', 'private,  no-cache, max-age=0'])(
    'tell caches what may stand in a header: %j',
    (value) => {
      expect(degradedHeaders([flags], { cacheControl: value })).toHaveProperty('cache-control', value);
    },
  );

  it('are called by no name that is taken, wherever that was said', () => {
    expect(() => refuseTakenHeader('Last-Modified', 'degraded.header')).toThrow(
      `degraded.header: "Last-Modified" means something else in an answer. Use 'x-degraded'.`,
    );
    expect(() => refuseTakenHeader('x-edge-degraded', 'degraded.header')).not.toThrow();
  });

  it('are of the list of what is missing, not of the answer that has it', () => {
    expect(() => degradedHeaders({ degraded: [] } as never)).toThrow(
      'degraded: expected an array, got an object. Pass the degraded of the answer.',
    );
  });
});

describe('the lists of several answers that leave as one', () => {
  const listOf = (degraded: DegradedSection[]): string => degradedHeaders(degraded)['x-degraded'] as string;

  it('are one list, in their order', () => {
    expect(joinLists([listOf([reviews, flags]), listOf([reviews])])).toBe(
      'reviews=upstream_timeout;300, flags=budget_exhausted;0, reviews=upstream_timeout;300',
    );
  });

  it('say at the end how many all of them leave out', () => {
    expect(joinLists(['a=skipped;0, *=more;12', 'b=skipped;0, *=more;3'])).toBe('a=skipped;0, b=skipped;0, *=more;15');
    expect(joinLists(['*=more;2', '*=more;1'])).toBe('*=more;3');
  });

  it('are as bounded together as each of them, and lose none from the count', () => {
    const half = many(50, 'section-');
    const joined = joinLists([listOf(half), `${listOf(half)}, *=more;7`]);
    const [more, ...listed] = joined.split(', ').reverse();

    expect(joined).toBe(listOf([...half, ...half]).replace(/;[0-9]+$/, `;${107 - listed.length}`));
    expect(more).toBe(`*=more;${107 - listed.length}`);
  });

  it('have as much as 2,048 characters, and not one more', () => {
    const long = many(1, 'x'.repeat(1_000));
    const fitting = many(1, 'y'.repeat(2_048 - listOf(long).length - ', 0=skipped;0'.length));
    const longer = many(1, 'y'.repeat(2_049 - listOf(long).length - ', 0=skipped;0'.length));

    expect(joinLists([listOf(long), listOf(fitting)])).toHaveLength(2_048);
    expect(joinLists([listOf(long), listOf(longer)])).toBe(`${listOf(long)}, *=more;1`);
  });
});

describe('a header that a cache keeps or revives an answer by', () => {
  it.each([
    ['a validator', ['ETag', 'etag', 'Last-Modified']],
    ['a time that old caches go by', ['Expires']],
    ['what all networks heed before Cache-Control', ['CDN-Cache-Control', 'cdn-cache-control']],
    [
      'what one network heeds before it',
      [
        'Cloudflare-CDN-Cache-Control',
        'Netlify-CDN-Cache-Control',
        'Vercel-CDN-Cache-Control',
        'Akamai-Cache-Control',
        'X-LiteSpeed-Cache-Control',
        'Surrogate-Control',
        'Edge-Control',
        'X-Accel-Expires',
      ],
    ],
    ['the same of a network that nobody knows yet', ['ExampleNet-Cache-Control']],
  ])('is %s', (_kind, names) => {
    expect(names.filter((name) => !isHeaderOfWholeAnswers(name))).toEqual([]);
  });

  it.each([
    ['the header that is replaced', ['Cache-Control']],
    ['one that only says how old an answer is: without it caches would take it for fresh', ['Age']],
    ['one by which what was kept is found, or thrown away', ['Vary', 'Surrogate-Key', 'Cache-Tag', 'CDN-Tag']],
    ['one that tells what a cache has done', ['Cache-Status', 'X-Cache']],
    ['any other control', ['Access-Control-Max-Age', 'X-DNS-Prefetch-Control', '-cache-control', 'X-Cache-Controller']],
  ])('is not %s', (_kind, names) => {
    expect(names.filter(isHeaderOfWholeAnswers)).toEqual([]);
  });
});

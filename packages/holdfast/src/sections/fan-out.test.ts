import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { answerAfter, failAfter, hang } from '../../test/section-work.js';
import { fanOut, type FanOutOptions, type Sections } from './fan-out.js';
import { optional, required } from './section.js';

useFakeClock();

const down = new Error('down');
const open = { fallback: null } as const;
const within = { budget: 1_000 } as const;

describe('an answer from several sections', () => {
  it('has what there is, and is marked with what is missing', async () => {
    const page = outcomeOf(
      fanOut(
        {
          product: required(() => answerAfter(100, { id: 7 }), { name: 'catalog', timeout: '800ms' }),
          reviews: optional(() => hang<number>(), { timeout: '300ms', fallback: null }),
          similar: optional(() => failAfter(5, down), { name: 'recommendations', timeout: '300ms', fallback: null }),
        },
        { budget: '1s' },
      ),
    );

    await pass(299);
    expect(page.state).toBe('pending');
    await pass(1);
    expect(page.value).toMatchObject({
      partial: true,
      data: { product: { id: 7 }, reviews: null, similar: null },
      degraded: [
        { section: 'reviews', reason: 'upstream_timeout', waitedMs: 300 },
        { section: 'recommendations', reason: 'upstream_error', waitedMs: 5 },
      ],
    });
  });

  it('starts all of them at once, in the same turn', () => {
    const work = new ManualWork();
    void fanOut({ a: required(work.run), b: required(work.run), c: required(work.run) }, within);

    expect(work.calls).toHaveLength(3);
    for (const { answer } of work.calls) answer();
  });

  it('lists everything in the order of declaration, whoever is done first', async () => {
    const sections = {
      late: optional(() => failAfter(30, down), open),
      early: optional(() => failAfter(10, down), open),
      good: required(() => answerAfter(20, 1)),
    };
    const page = fanOut(sections, within);
    await pass(30);
    const { data, degraded, timings } = await page;

    expect(Object.keys(data)).toEqual(['late', 'early', 'good']);
    expect(degraded.map(({ section }) => section)).toEqual(['late', 'early']);
    expect(timings.map(({ section, ms }) => [section, ms])).toEqual([
      ['late', 30],
      ['early', 10],
      ['good', 20],
    ]);
  });

  it('takes plain values, promises and other thenables', async () => {
    const thenable = { then: (resolve: (value: string) => void): void => resolve('thenable') } as PromiseLike<string>;
    const sections = { plain: required(() => 1), nothing: required(() => undefined), other: required(() => thenable) };

    await expect(fanOut(sections, within)).resolves.toMatchObject({
      data: { plain: 1, nothing: undefined, other: 'thenable' },
      partial: false,
    });
  });

  it('keeps apart what its sections are called, however odd', async () => {
    const sections = Object.fromEntries(
      ['__proto__', 'constructor', 'then-some'].map((key, at) => [key, required(() => at)]),
    );
    const { data } = await fanOut(sections, within);

    expect(Object.entries(data)).toEqual([
      ['__proto__', 0],
      ['constructor', 1],
      ['then-some', 2],
    ]);
  });

  it('is an object of its own, with what has a name', async () => {
    const sections = { a: required(() => 1), [Symbol('note')]: 'not a section' };
    const { data } = await fanOut(sections, within);

    expect(Reflect.ownKeys(data)).toEqual(['a']);
    expect(sections.a.settings.name).toBeUndefined();
    expect(Object.getPrototypeOf(data)).toBe(Object.prototype);
  });

  it('is built anew each time from sections that are declared once, also at the same time', async () => {
    const work = new ManualWork();
    const sections = {
      a: optional(work.run, { timeout: 50, fallback: undefined }),
      b: required(() => 1, { timeout: 50 }),
    };
    const pages = [outcomeOf(fanOut(sections)), outcomeOf(fanOut(sections))];
    work.call(1).answer('second');
    await pass(50);

    expect(pages.map(({ value }) => value)).toMatchObject([
      { partial: true },
      { partial: false, data: { a: 'second' } },
    ]);
  });

  it('leaves no timer when it is done, and none of a section that is', async () => {
    const work = new ManualWork();
    void fanOut({ a: required(() => answerAfter(1, 1)), b: required(work.run) }, within);
    await pass(1);
    expect(vi.getTimerCount()).toBe(1);

    work.call(0).answer();
    await microtasks();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('what an answer is built from', () => {
  const section = required(() => 1);

  it.each<[string, unknown, RegExp]>([
    ['nothing', {}, /^sections: there are none\. Give at least one/],
    ['a list', [section], /^sections: expected an options object, got an array/],
    ['null', null, /^sections: expected an options object, got null.* Use \{ product: required\(…\), reviews: /],
    ['undefined', undefined, /^sections: expected an options object, got undefined/],
    [
      'a function',
      { a: () => 1 },
      /^a: expected a section, got function a\. Make it with required\(\) or optional\(\)/,
    ],
    ['a promise', { a: Promise.resolve(1) }, /^a: expected a section, got an object/],
    ['a key that no header shows', { 'my reviews': section }, /^my reviews: "my reviews" is no name for a section/],
    ['the key of the whole', { '*': section }, /^\*: "\*" is no name/],
    ['two of a name', { a: section, b: required(() => 1, { name: 'a' }) }, /^name: two sections are called "a"/],
    [
      'two that are given one name',
      { a: required(() => 1, { name: 'c' }), b: required(() => 1, { name: 'c' }) },
      /^name: two sections are called "c"/,
    ],
    [
      'two of a name among a hundred',
      { ...manySections(), b: required(() => 1, { name: 'many-0' }) },
      /^name: two sections are called "many-0"/,
    ],
    ['one section twice', { a: section, b: section }, /^sections: one section stands there under two keys/],
    [
      'one section twice among a hundred',
      { a: section, ...manySections(), b: section },
      /^sections: one section stands there under two keys/,
    ],
  ])('is checked before anything runs: %s', async (_what, sections, message) => {
    const error = await errorOf(fanOut(sections as Sections, within));

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
  });

  it('may have any key where a name is given', async () => {
    await expect(fanOut({ 'my reviews': required(() => 1, { name: 'reviews' }) }, within)).resolves.toHaveProperty(
      'data',
    );
  });

  it.each([
    ['a budget', '1s'],
    ['null', null],
  ])('is told how options look when they are %s', async (_what, options) => {
    await expect(fanOut({ a: section }, options as FanOutOptions)).rejects.toThrow(
      /^options: expected an options object, got .* Use \{ budget: '1s' \}/,
    );
  });

  it.each<[object, RegExp]>([
    [{ concurrency: 0 }, /^concurrency: expected a whole number of at least 1, or Infinity, got 0/],
    [{ concurrency: 1.5 }, /^concurrency: /],
    [{ minimum: -1 }, /^minimum: expected a whole number of at least 0 and at most 1, got -1/],
    [{ minimum: 2 }, /^minimum: .*at most 1, got 2/],
    [{ minimum: 1.5 }, /^minimum: /],
    [
      { parallel: 2 },
      /^parallel: unknown option\. Known options: name, .*, concurrency, minimum, onRequiredFailure\.$/,
    ],
    [{ onRequiredFailure: 'wait' }, /^onRequiredFailure: expected one of 'cancel', 'settle', got "wait"/],
  ])('is put together as %j does not say', async (options, message) => {
    await expect(fanOut({ a: required(() => 1) }, { ...within, ...options })).rejects.toThrow(message);
  });
});

function manySections(): Sections {
  return Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`many-${at}`, required(() => at)]));
}

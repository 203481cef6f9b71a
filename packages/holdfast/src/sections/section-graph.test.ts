import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { answerAfter, failAfter, hang } from '../../test/section-work.js';
import { EventRecorder } from '../testing/index.js';
import { fanOut, type Sections } from './fan-out.js';
import { optional, required, type Section } from './section.js';

useFakeClock();

const down = new Error('down');
const within = { budget: 1_000 } as const;

describe('a section that comes after others', () => {
  it('starts once they have their values, and is given them', async () => {
    const product = required(() => answerAfter(10, { id: 7 }));
    const shop = required(() => answerAfter(20, 'open'));
    const run = vi.fn(({ product, shop }: { product: { id: number }; shop: string }) => `${product.id} ${shop}`);
    const page = outcomeOf(fanOut({ product, shop, offer: required(run, { after: { product, shop } }) }, within));

    await pass(19);
    expect(run).not.toHaveBeenCalled();
    await pass(1);
    expect(page.value).toMatchObject({ data: { offer: '7 open' } });
  });

  it('has the properties of its attempt beside them', async () => {
    const product = required(() => 7, { timeout: 50 });
    let given: unknown;
    const offer = required(
      (context) => {
        const { product, attempt, signal, deadline } = context;
        given = { product, attempt, aborted: signal.aborted, budgetMs: deadline?.budgetMs };
      },
      { after: { product }, timeout: 50 },
    );
    await fanOut({ product, offer });

    expect(given).toEqual({ product: 7, attempt: 1, aborted: false, budgetMs: 50 });
  });

  it('may need one value under two names', async () => {
    const a = required(() => 1);
    const b = required(({ x, y }) => x + y, { after: { x: a, y: a } });

    await expect(fanOut({ a, b }, within)).resolves.toMatchObject({ data: { b: 2 } });
  });

  it('may stand before them, and comes after none when it names none', async () => {
    const a = required(() => 1);
    const b = required(({ a }) => a + 1, { after: { a } });
    const none = required(() => 3, { after: {} });

    await expect(fanOut({ b, none, a }, within)).resolves.toMatchObject({ data: { b: 2, none: 3, a: 1 } });
  });

  it('has its own limit from when it starts', async () => {
    const a = required(() => answerAfter(30, 1));
    const b = optional(() => hang<number>(), { after: { a }, timeout: 20, fallback: null });
    const page = outcomeOf(fanOut({ a, b }, within));

    await pass(49);
    expect(page.state).toBe('pending');
    await pass(1);
    expect(page.value).toMatchObject({ degraded: [{ section: 'b', reason: 'upstream_timeout', waitedMs: 20 }] });
  });

  it('never runs when the others leave it nothing of the budget', async () => {
    const run = vi.fn(() => 1);
    const a = required(() => answerAfter(100, 1));
    const b = optional(run, { after: { a }, fallback: null });
    const page = outcomeOf(
      fanOut({ a: optional(() => 1, { fallback: null }), first: a, b }, { budget: 101, minRemaining: 2 }),
    );
    await pass(100);

    expect(page.value).toMatchObject({ degraded: [{ section: 'b', reason: 'budget_exhausted', waitedMs: 0 }] });
    expect(run).not.toHaveBeenCalled();
  });

  it('is one after a section of the same fan-out, or refused', async () => {
    const elsewhere = required(() => 1);
    const sections = { a: required(() => 1), b: required(() => 1, { after: { product: elsewhere } }) };

    await expect(fanOut(sections, within)).rejects.toThrow(/^b\.after\.product: this section is not in the fan-out/);
  });

  it('is refused as well where there is no other in the fan-out', async () => {
    const elsewhere = required(() => 1);

    await expect(fanOut({ b: required(() => 1, { after: { elsewhere } }) }, within)).rejects.toThrow(
      /^b\.after\.elsewhere: this section is not in the fan-out/,
    );
  });

  it('can copy all that it is given', async () => {
    const product = required(() => 7, { timeout: 50 });
    const offer = required((context) => ({ ...context }), { after: { product }, timeout: 50 });
    const { data } = await fanOut({ product, offer });

    expect(data.offer).toEqual({
      product: 7,
      attempt: 1,
      signal: expect.any(AbortSignal) as AbortSignal,
      deadline: expect.objectContaining({ budgetMs: 50 }) as object,
    });
  });

  it('cannot close a circle, whatever becomes of the object that said so', async () => {
    const after: Record<string, Section<unknown>> = {};
    const start = required(() => 1);
    after['start'] = start;
    const a = required(() => 2, { after });
    after['b'] = required(() => 3, { after: { a } });

    await expect(fanOut({ start, a, b: after['b'] }, within)).resolves.toMatchObject({ data: { a: 2, b: 3 } });
  });
});

describe('a section after one that is missing', () => {
  it.each<[string, () => Promise<number>]>([
    ['failed', () => failAfter(10, down)],
    ['hung', () => hang()],
  ])('is skipped, with its fallback and without a run: that one %s', async (_how, work) => {
    const run = vi.fn(() => 1);
    const fallback = vi.fn((_error: unknown) => 0);
    const a = optional(work, { timeout: 10, fallback: 0 });
    const page = outcomeOf(fanOut({ a, b: optional(run, { after: { a }, fallback }), c: required(() => 1) }, within));
    await pass(10);

    expect(page.value).toMatchObject({
      data: { a: 0, b: 0 },
      degraded: [{ section: 'a' }, { section: 'b', reason: 'skipped', waitedMs: 0 }],
    });
    expect(fallback).toHaveBeenCalledExactlyOnceWith(undefined);
    expect(run).not.toHaveBeenCalled();
  });

  it('is told of in an event, as every missing section is', async () => {
    const recorder = new EventRecorder();
    const a = optional(() => Promise.reject(down), { fallback: null });
    await fanOut({ a, b: optional(() => 1, { after: { a }, fallback: null }), c: required(() => 1) }, within);
    recorder.stop();

    expect(recorder.of('degraded').map(({ section, reason }) => [section, reason])).toEqual([
      ['a', 'upstream_error'],
      ['b', 'skipped'],
    ]);
  });

  it.each<[string, () => Promise<number>, string[]]>([
    ['is missing as well', () => failAfter(20, down), ['late']],
    ['is good', () => answerAfter(20, 1), []],
  ])('is skipped as soon as one of them is missing, and once: the other %s', async (_how, work, missing) => {
    const recorder = new EventRecorder();
    const early = optional(() => failAfter(10, down), { fallback: null });
    const late = optional(work, { fallback: null });
    const b = optional(() => 1, { after: { early, late }, fallback: null });
    const page = outcomeOf(fanOut({ early, late, b, c: required(() => 1) }, within));
    await pass(10);
    expect(recorder.of('degraded').map(({ section }) => section)).toEqual(['early', 'b']);
    await pass(10);
    recorder.stop();

    expect(recorder.of('degraded').map(({ section }) => section)).toEqual(['early', 'b', ...missing]);
    expect(page.state).toBe('fulfilled');
  });

  it('fails the answer when it is required itself', async () => {
    const a = optional(() => Promise.reject(down), { fallback: null });
    const page = fanOut({ a, b: required(() => 1, { after: { a } }) }, within);

    await expect(errorOf(page)).resolves.toMatchObject({ section: 'b', reason: 'skipped', status: 502 });
  });

  it('says nothing of those that come after it, once the answer has failed', async () => {
    const recorder = new EventRecorder();
    const a = optional(() => Promise.reject(down), { fallback: null });
    const b = required(() => 1, { after: { a } });
    const c = optional(() => 1, { after: { a }, fallback: null });
    await errorOf(fanOut({ a, b, c }, within));
    recorder.stop();

    expect(recorder.of('degraded').map(({ section }) => section)).toEqual(['a', 'b']);
  });
});

describe('sections one at a time, and many of them', { timeout: 30_000 }, () => {
  it('never run more than asked for at once, in the order of declaration', async () => {
    const started: number[] = [];
    let running = 0;
    let most = 0;
    const section = (at: number): Section<number | null, number> =>
      optional(
        async () => {
          started.push(at);
          most = Math.max(most, ++running);
          await answerAfter(1, undefined);
          running -= 1;
          return at;
        },
        { fallback: null },
      );
    const sections = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`s${at}`, section(at)]));
    const page = outcomeOf(fanOut(sections, { concurrency: 3, budget: 200 }));
    await pass(200);
    const { degraded, data } = page.value as { degraded: { reason: string }[]; data: object };

    expect(most).toBe(3);
    expect(started).toEqual(started.toSorted((one, other) => one - other));
    expect(Object.keys(data)).toHaveLength(1_000);
    expect(degraded.map(({ reason }) => reason)).toEqual([
      ...Array<string>(3).fill('upstream_timeout'),
      ...Array<string>(degraded.length - 3).fill('budget_exhausted'),
    ]);
    expect(started.length - 3 + degraded.length).toBe(1_000);
  });

  it('give the turn of a section that is missing to the next', async () => {
    const run = vi.fn(() => 1);
    const sections = {
      a: optional(() => failAfter(10, down), { fallback: null }),
      b: optional(() => hang(), { timeout: 10, fallback: null }),
      c: required(run),
    };
    const page = outcomeOf(fanOut(sections, { ...within, concurrency: 1 }));
    await pass(19);
    expect(run).not.toHaveBeenCalled();
    await pass(1);

    expect(page.value).toMatchObject({ data: { c: 1 } });
  });

  it('gain no turn by one that is skipped, which never had any', async () => {
    const work = new ManualWork();
    const a = optional(() => failAfter(10, down), { fallback: null });
    const sections = {
      a,
      running: required(work.run),
      skipped: optional(work.run, { after: { a }, fallback: null }),
      next: required(work.run),
      last: required(work.run),
    };
    void fanOut(sections, { ...within, concurrency: 2 });
    await pass(10);

    expect(work.calls).toHaveLength(2);
    for (let at = 0; at < 3; at++) {
      work.call(at).answer();
      await microtasks();
    }
  });

  it('spend the budget while they wait for their turn', async () => {
    const sections = {
      a: optional(() => hang(), { fallback: null }),
      b: optional(() => 1, { fallback: null }),
      c: optional(() => 1, { fallback: null }),
    };
    const page = outcomeOf(fanOut(sections, { budget: 10, concurrency: 1, minimum: 0 }));
    await pass(10);

    expect(page.value).toMatchObject({
      degraded: [
        { reason: 'upstream_timeout', waitedMs: 10 },
        { reason: 'budget_exhausted' },
        { reason: 'budget_exhausted' },
      ],
    });
  });

  it('work as ten thousand, five at a time', async () => {
    const sections = manySections(10_000, (at) => required(() => at));
    const { data } = await fanOut(sections, { ...within, concurrency: 5 });

    expect(Object.values(data).slice(-2)).toEqual([9_998, 9_999]);
  });

  it('work as a chain of ten thousand', async () => {
    const sections = chain(10_000, () => 0);
    const { data } = await fanOut(sections, { ...within, concurrency: 1 });

    expect((data as Record<string, unknown>)['s9999']).toBe(9_999);
  });

  it('are skipped as a chain of ten thousand', async () => {
    const sections = chain(10_000, () => {
      throw down;
    });
    const { degraded } = await fanOut(sections, { ...within, minimum: 0 });

    expect(degraded).toHaveLength(10_000);
    expect(degraded.map(({ reason }) => reason)).toEqual(['upstream_error', ...Array<string>(9_999).fill('skipped')]);
  });

  it('are let go on by one that ten thousand wait for', async () => {
    const first = required(() => 1);
    const others = manySections(10_000, (at) => required(({ first }) => first + at, { after: { first } }));
    const { data } = await fanOut({ first, ...others }, within);
    await microtasks();

    expect(Object.keys(data)).toHaveLength(10_001);
  });

  function manySections(count: number, make: (at: number) => Section<unknown>): Sections {
    return Object.fromEntries(Array.from({ length: count }, (_, at) => [`s${at}`, make(at)]));
  }

  function chain(count: number, start: () => number): Sections {
    let before: Section<unknown, unknown> = optional(start, { fallback: null });
    const sections: Record<string, Section<unknown>> = { s0: before };
    for (let at = 1; at < count; at++) {
      before = optional(({ before }) => (before as number) + 1, { after: { before }, fallback: null });
      sections[`s${at}`] = before;
    }

    return sections;
  }
});

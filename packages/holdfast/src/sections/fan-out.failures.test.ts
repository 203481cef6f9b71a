import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { answerAfter, failAfter, hang } from '../../test/section-work.js';
import { SectionFailedError, SiblingFailedError } from '../errors.js';
import { EventRecorder } from '../testing/index.js';
import { fanOut } from './fan-out.js';
import { optional, required, type Section } from './section.js';

useFakeClock();

const down = new Error('down');
const fail = (): Promise<never> => Promise.reject(down);
const open = { fallback: null } as const;
const within = { budget: 1_000 } as const;

describe('an optional section that fails', () => {
  it('falls back to what its function makes of the error', async () => {
    const fallback = vi.fn((_error: unknown) => 'made');
    const page = await fanOut(
      { a: optional((): Promise<string> => fail(), { fallback }), b: required(() => 1) },
      within,
    );

    expect(page.data.a).toBe('made');
    expect(fallback).toHaveBeenCalledExactlyOnceWith(down);
  });

  it('is told of its limit in our own words, and not in those of the platform', async () => {
    const fallback = vi.fn((_error: unknown) => 'made');
    void fanOut({ a: optional(() => hang<string>(), { timeout: 10, fallback }), b: required(() => 1) }, within);
    await pass(10);

    expect(fallback).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'TIMEOUT', timeoutMs: 10 }));
  });

  it.each<[string, () => unknown]>([
    [
      'throws at once',
      (): never => {
        throw down;
      },
    ],
    ['rejects', fail],
    [
      'returns a thenable that throws',
      () => ({
        then: (): never => {
          throw down;
        },
      }),
    ],
    [
      'returns what throws when asked for its then',
      () =>
        Object.defineProperty({}, 'then', {
          get: (): never => {
            throw down;
          },
        }),
    ],
    [
      'throws undefined',
      (): never => {
        throw undefined;
      },
    ],
  ])('is missing, whatever way that happens: %s', async (_how, run) => {
    const page = await fanOut({ a: optional(run, open), b: required(() => 1) }, within);

    expect(page.degraded).toEqual([{ section: 'a', reason: 'upstream_error', waitedMs: 0 }]);
  });

  it.each<[string, () => unknown, unknown]>([
    [
      'throws',
      (): never => {
        throw down;
      },
      down,
    ],
    [
      'rejects',
      fail,
      expect.objectContaining({
        message: expect.stringMatching(
          /^fallback of section "a" returned a Promise\. Return a value from it/,
        ) as string,
      }),
    ],
    ['returns a promise', () => Promise.resolve(1), expect.any(TypeError)],
  ])('fails the answer when its fallback %s', async (_how, fallback, cause) => {
    const page = fanOut({ a: optional<unknown, unknown>(fail, { fallback }), b: required(() => 1) }, within);
    const error = await errorOf(page);

    expect(error).toBeInstanceOf(SectionFailedError);
    expect(error).toMatchObject({ section: 'a', reason: 'upstream_error', message: 'a unavailable', cause });
  });
});

describe('a required section that fails', () => {
  it('fails the answer with an error that has nothing of the dependency in its message', async () => {
    const error = await errorOf(fanOut({ a: required(fail, { name: 'catalog' }) }, { ...within, name: 'page' }));

    expect(error).toBeInstanceOf(SectionFailedError);
    expect(error).toMatchObject({
      code: 'SECTION_FAILED',
      message: 'catalog unavailable',
      policy: 'page',
      status: 502,
    });
    expect(error).toMatchObject({ section: 'catalog', reason: 'upstream_error', cause: down, retryAfterMs: undefined });
    expect(Object.keys(error as object)).not.toContain('cause');
  });

  it('decides at once, and cancels the others with a reason of their own', async () => {
    const work = new ManualWork();
    const recorder = new EventRecorder();
    const page = outcomeOf(
      fanOut({ a: required(() => failAfter(10, down)), b: optional(work.run, open), c: required(work.run) }, within),
    );
    const { signal } = work.call(0).context;
    await pass(9);
    expect([page.state, signal.aborted]).toEqual(['pending', false]);
    await pass(1);
    recorder.stop();

    expect(page.value).toMatchObject({ section: 'a' });
    expect(signal.reason).toBeInstanceOf(SiblingFailedError);
    expect(signal.reason).toMatchObject({ section: 'a', code: 'SIBLING_FAILED' });
    expect(work.call(1).context.signal.reason).toBe(signal.reason);
    expect(recorder.of('degraded').map(({ section }) => section)).toEqual(['a']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('lets none begin after it, also where it fails at once', async () => {
    const run = vi.fn(() => 1);
    const a = required((): never => {
      throw down;
    });
    await errorOf(fanOut({ a, b: optional(run, open) }, within));

    expect(run).not.toHaveBeenCalled();
  });

  it('waits for the others when asked to, and names the first that was declared', async () => {
    const sections = {
      late: required(() => failAfter(20, down)),
      early: required(() => failAfter(10, down)),
      good: required(() => answerAfter(30, 1)),
    };
    const page = outcomeOf(fanOut(sections, { ...within, onRequiredFailure: 'settle' }));

    await pass(29);
    expect(page.state).toBe('pending');
    await pass(1);
    expect(page.value).toMatchObject({ section: 'late', cause: down });
  });

  it.each<[unknown, number]>([
    [{ status: 404 }, 404],
    [{ statusCode: 410 }, 410],
    [{ response: { status: 404 } }, 404],
    [{ getStatus: () => 404, getResponse: () => ({}) }, 404],
    [{ status: 403 }, 502],
    [{ status: 500 }, 502],
    [{ status: '404' }, 502],
    [{ response: null }, 502],
    [undefined, 502],
    [
      new Proxy(
        {},
        {
          get: (): never => {
            throw down;
          },
        },
      ),
      502,
    ],
  ])('answers 404 and 410 as its dependency did, and else 502: case %#', async (error, status) => {
    const page = fanOut({ a: required(() => Promise.reject(error)) }, within);

    await expect(errorOf(page)).resolves.toMatchObject({ status });
  });

  it('asks nobody to come back for what its dependency does not have', async () => {
    const product = (error: unknown): Section<never> => required(() => Promise.reject(error), { retryAfter: '5s' });
    const missing = fanOut({ product: product({ status: 404 }) }, within);
    const down = fanOut({ product: product({ status: 503 }) }, within);

    await expect(errorOf(missing)).resolves.toMatchObject({ status: 404, retryAfterMs: undefined });
    await expect(errorOf(down)).resolves.toMatchObject({ status: 502, retryAfterMs: 5_000 });
  });

  it('answers as it asks to', async () => {
    const gate = required(() => Promise.reject({ status: 404 }), { status: 503, retryAfter: '5s' });

    await expect(errorOf(fanOut({ gate }, within))).resolves.toMatchObject({ status: 503, retryAfterMs: 5_000 });
  });
});

describe('too few good sections', () => {
  const good = (): number => 1;

  it('fail an answer that has no required one: an outage is no empty page', async () => {
    const page = fanOut({ a: optional(fail, open), b: optional(() => hang(), { ...open, timeout: 10 }) }, within);
    const failed = errorOf(page);
    await pass(10);

    expect(await failed).toMatchObject({
      section: '*',
      message: 'all sections unavailable',
      status: 502,
      reason: 'upstream_error',
      cause: { errors: [down, { code: 'TIMEOUT' }] },
    });
  });

  it.each([
    [undefined, 'good'],
    [1, 'good'],
    [2, 'failed'],
    [0, 'good'],
  ] as const)('are fewer than the minimum: of %j one is %s', async (minimum, expected) => {
    const page = outcomeOf(fanOut({ a: optional(fail, open), b: optional(good, open) }, { ...within, minimum }));
    await microtasks();

    expect(page.state).toBe(expected === 'good' ? 'fulfilled' : 'rejected');
  });

  it('are counted beside a required one only when asked for', async () => {
    const sections = { a: required(good), b: optional(fail, open) };

    await expect(fanOut(sections, within)).resolves.toMatchObject({ partial: true });
    await expect(errorOf(fanOut(sections, { ...within, minimum: 2 }))).resolves.toMatchObject({ section: '*' });
  });

  it('fail it for the reason of the first that is missing, with the errors of those', async () => {
    const sections = {
      a: optional(good, open),
      b: optional(() => hang(), { ...open, timeout: 10 }),
      c: optional(fail, open),
    };
    const failed = errorOf(fanOut(sections, { ...within, minimum: 2 }));
    await pass(10);

    expect(await failed).toMatchObject({ reason: 'upstream_timeout', cause: { errors: [{ code: 'TIMEOUT' }, down] } });
  });
});

import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { errorOf, outcomeOf } from '../../test/outcome.js';
import { answerAfter, hang } from '../../test/section-work.js';
import { CircuitBreakerPolicy, TimeoutPolicy } from '../index.js';
import { EventRecorder } from '../testing/index.js';
import { collect } from './collect.js';
import { fanOut } from './fan-out.js';
import { optional, required } from './section.js';

useFakeClock();

const open = { fallback: null } as const;

describe('what an answer is built under', () => {
  it.each<[string, object, RegExp]>([
    ['a negative budget', { budget: -1 }, /^budget: Invalid duration -1/],
    ['a budget that is no number', { budget: NaN }, /^budget: Invalid duration NaN.*environment variable/],
    ['a budget without end', { budget: Infinity }, /^budget: Invalid duration Infinity/],
    ['a budget of nothing', { budget: '0s' }, /^budget: .*greater than 0/],
    ['a malformed budget', { budget: '1 s' }, /^budget: Invalid duration "1 s"/],
    ['an absurd budget', { budget: `${'9'.repeat(400)}h` }, /^budget: Invalid duration/],
    ['a negative reserve', { budget: 100, reserve: -1 }, /^reserve: Invalid duration -1/],
    ['a reserve as large as the budget', { budget: 100, reserve: 100 }, /^reserve: 100 ms leave nothing of .* 100 ms/],
    [
      'a reserve larger than the budget',
      { budget: '1s', reserve: '2s' },
      /^reserve: 2000 ms leave nothing of a budget of 1000 ms\. Reserve less, or raise the budget\.$/,
    ],
    ['a negative margin', { budget: 100, margin: -1 }, /^margin: Invalid duration -1/],
    ['a malformed margin', { budget: 100, margin: 'some' }, /^margin: Invalid duration "some"/],
    ['a negative minRemaining', { budget: 100, minRemaining: -1 }, /^minRemaining: Invalid duration -1/],
    ['a minRemaining as large as the budget', { budget: 100, minRemaining: 100 }, /^minRemaining: with 100 ms nothing/],
    ['a name that is none', { budget: 100, name: '' }, /^name: expected a name/],
    ['a source that is none', { budget: 100, source: 5 }, /^source: expected a name.*got 5/],
    ['a signal that is none', { budget: 100, signal: {} }, /^signal: expected an AbortSignal, got an object/],
    ['a signal that is null', { budget: 100, signal: null }, /^signal: expected an AbortSignal, got null/],
    ['a word for detached', { budget: 100, detached: 'yes' }, /^detached: expected true or false, got "yes"/],
    ['a misspelt option', { budgt: 100 }, /^budgt: unknown option. Did you mean "budget"\?/],
  ])('is checked before anything runs: %s', async (_what, options, message) => {
    const run = vi.fn(() => 1);
    const error = await errorOf(fanOut({ a: required(run, { timeout: 5 }) }, options));

    expect(error).toBeInstanceOf(TypeError);
    expect(String((error as Error).message)).toMatch(message);
    expect(() => collect(options)).toThrow(message);
    expect(run).not.toHaveBeenCalled();
  });

  it.each([null, 'text', 5, []])('is an object, and not %j', async (options) => {
    await expect(fanOut({ a: required(() => 1, { timeout: 5 }) }, options as object)).rejects.toThrow(
      /^options: expected an options object/,
    );
    expect(() => collect(options as object)).toThrow(/^options: expected an options object/);
  });

  it('is never written to', async () => {
    const options = Object.freeze({ budget: 100, reserve: 10 });
    const sections = Object.freeze({ a: required(() => 1, Object.freeze({ timeout: 5 })) });

    await expect(fanOut(sections, options)).resolves.toMatchObject({ data: { a: 1 } });
  });
});

describe('a section that nothing would ever end', () => {
  it('is refused, with its name and what to do', async () => {
    const run = vi.fn(() => 1);
    const sections = { first: required(run, { timeout: 5 }), second: required(run) };

    await expect(fanOut(sections)).rejects.toThrow(
      'second.timeout: nothing would ever end this section. Give it a timeout, or the whole answer a budget, such as ' +
        "fanOut(sections, { budget: '1s' }).",
    );
    await expect(collect().required('second', run)).rejects.toThrow(/^second\.timeout: nothing would ever end/);
    expect(run).not.toHaveBeenCalled();
  });

  it('is one whose policy has no limit either', async () => {
    const unlimited = required(() => 1, { policy: TimeoutPolicy.wrap() });
    const limited = required(() => 1, { policy: new TimeoutPolicy(50) });

    await expect(fanOut({ unlimited })).rejects.toThrow(/^unlimited\.timeout: nothing would ever end/);
    await expect(fanOut({ limited })).resolves.toMatchObject({ data: { limited: 1 } });
  });
});

describe('the budget of an answer', () => {
  it('settles what has no answer by then', async () => {
    const page = outcomeOf(
      fanOut({ slow: optional(() => hang<number>(), open), quick: optional(() => 1, open) }, { budget: 100 }),
    );

    await pass(99);
    expect(page.state).toBe('pending');
    await pass(1);
    expect(page.value).toMatchObject({
      data: { slow: null, quick: 1 },
      degraded: [{ section: 'slow', reason: 'upstream_timeout', waitedMs: 100 }],
    });
  });

  it('does not lengthen the limit of a section', async () => {
    const page = outcomeOf(fanOut({ a: required(hang, { timeout: 50 }) }, { budget: 100 }));

    await pass(49);
    expect(page.state).toBe('pending');
    await pass(1);
    expect(page.value).toMatchObject({ section: 'a', reason: 'upstream_timeout' });
  });

  it('shortens it, and says whose limit it was', async () => {
    const page = outcomeOf(fanOut({ a: required(hang, { timeout: 500 }) }, { budget: 100, name: 'page' }));

    await pass(100);
    expect(page.value).toMatchObject({
      policy: 'page',
      cause: { code: 'DEADLINE_EXCEEDED', budgetMs: 100, policy: 'page' },
    });
  });

  it('may be longer than what a timer of the platform holds', async () => {
    const page = outcomeOf(fanOut({ a: required(() => answerAfter(10, 1)) }, { budget: '30d' }));

    await pass(10);
    expect(page.value).toMatchObject({ data: { a: 1 } });
  });
});

describe('the reserve of an answer', () => {
  it('is what its sections may not spend', async () => {
    const page = outcomeOf(fanOut({ a: optional(hang, open), b: required(() => 1) }, { budget: 100, reserve: 30 }));

    await pass(69);
    expect(page.state).toBe('pending');
    await pass(1);
    expect(page.value).toMatchObject({ degraded: [{ section: 'a', reason: 'upstream_timeout', waitedMs: 70 }] });
  });

  it('is overruled by that of a section', async () => {
    const sections = { a: optional(hang, { ...open, reserve: 0 }), b: required(() => 1), c: optional(hang, open) };
    const page = outcomeOf(fanOut(sections, { budget: 100, reserve: 30 }));

    await pass(99);
    expect(page.state).toBe('pending');
    await pass(1);
    expect(page.value).toMatchObject({ degraded: [{ waitedMs: 100 }, { waitedMs: 70 }] });
  });

  it('is no part of the limit of which a hanging dependency has used half', async () => {
    const policy = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const sections = { a: optional(hang, { ...open, policy }), b: required(() => 1) };
    const page = outcomeOf(fanOut(sections, { budget: 1_000, reserve: 800 }));
    await pass(200);

    expect(page.value).toMatchObject({ degraded: [{ waitedMs: 200 }] });
    expect(policy.state).toBe('open');
  });

  it('of a section is less than the budget', async () => {
    const sections = { a: optional(hang, { ...open, reserve: 100 }) };

    await expect(fanOut(sections, { budget: 100 })).rejects.toThrow(/^a\.reserve: 100 ms leave nothing/);
  });
});

describe('a section with nothing left to run with', () => {
  const budget = 100;

  it.each([
    [98, 'good'],
    [99, 'good'],
    [100, 'budget_exhausted'],
  ])('does not run: %d ms after the start of %s', async (after, expected) => {
    const run = vi.fn(() => 1);
    const parts = collect({ budget });
    await pass(after);
    await parts.optional('late', run, open);

    expect(run).toHaveBeenCalledTimes(expected === 'good' ? 1 : 0);
    expect(parts.degraded).toEqual(
      expected === 'good' ? [] : [{ section: 'late', reason: 'budget_exhausted', waitedMs: 0 }],
    );
  });

  it.each([
    [90, 1],
    [91, 0],
  ])('is one with less than minRemaining: after %d ms it runs %d times', async (after, times) => {
    const run = vi.fn(() => 1);
    const parts = collect({ budget, minRemaining: 10 });
    await pass(after);
    await parts.optional('late', run, open);

    expect(run).toHaveBeenCalledTimes(times);
  });

  it('does not run on nothing, however little may remain', async () => {
    const run = vi.fn(() => 1);
    const parts = collect({ budget, minRemaining: 0 });
    await pass(100);
    await parts.optional('late', run, open);

    expect(run).not.toHaveBeenCalled();
  });

  it.each([
    [69, 1],
    [70, 0],
  ])('counts what is reserved as spent: after %d ms it runs %d times', async (after, times) => {
    const run = vi.fn(() => 1);
    const parts = collect({ budget, reserve: 30 });
    await pass(after);
    await parts.optional('late', run, open);

    expect(run).toHaveBeenCalledTimes(times);
  });

  it('rejects with the deadline as cause when it is required', async () => {
    const parts = collect({ budget, name: 'page' });
    await pass(100);
    const error = await errorOf(parts.required('gate', () => 1));

    expect(error).toMatchObject({ reason: 'budget_exhausted', cause: { code: 'DEADLINE_EXCEEDED', budgetMs: 100 } });
  });
});

describe('the degraded event', () => {
  it('tells of each missing section once, with what the answer does not say', async () => {
    const recorder = new EventRecorder();
    const down = new Error('connect ECONNREFUSED 10.0.0.7');
    const sections = {
      a: optional(() => Promise.reject(down), { ...open, name: 'reviews' }),
      b: optional(hang, { ...open, timeout: 20 }),
      c: required(() => 1),
    };
    void fanOut(sections, { budget: 100, name: 'page', source: 'GET /page' });
    await pass(20);
    recorder.stop();

    const common = { type: 'degraded', policy: 'page', source: 'GET /page' };
    expect(recorder.events).toEqual([
      { ...common, section: 'reviews', reason: 'upstream_error', waitedMs: 0, error: down },
      {
        ...common,
        section: 'b',
        reason: 'upstream_timeout',
        waitedMs: 20,
        error: expect.objectContaining({ code: 'TIMEOUT', timeoutMs: 20 }) as unknown,
      },
    ]);
  });

  it('tells of a required section too, and of the steps of a collect()', async () => {
    const recorder = new EventRecorder();
    const down = new Error('down');
    await errorOf(fanOut({ a: required(() => Promise.reject(down)) }, { budget: 100 }));
    const parts = collect({ budget: 100, name: 'edge' });
    await parts.optional('flags', () => Promise.reject(down), open);
    recorder.stop();

    expect(recorder.of('degraded').map(({ policy, section, error }) => [policy, section, error])).toEqual([
      ['fan-out', 'a', down],
      ['edge', 'flags', down],
    ]);
  });
});

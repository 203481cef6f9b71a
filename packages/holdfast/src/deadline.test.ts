import { describe, expect, it, vi } from 'vitest';
import { pass, START, useFakeClock } from '../test/fake-clock.js';
import { outcomeOf } from '../test/outcome.js';
import { hang } from '../test/section-work.js';
import { Deadline, earliest } from './deadline.js';
import type { Duration } from './duration.js';
import { DeadlineExceededError } from './errors.js';
import { BudgetPolicy, collect, fanOut, required, RetryPolicy, type AttemptContext } from './index.js';

useFakeClock();

describe('a deadline', () => {
  it('is called `deadline` unless it is that of somebody', () => {
    expect(Deadline.after(100).nothingLeft().policy).toBe('deadline');
    expect(Deadline.after(100, { policy: 'checkout' }).nothingLeft().policy).toBe('checkout');
  });

  it('has its parts named where one is no duration', () => {
    const deadline = Deadline.after(100);

    expect(() => Deadline.after('soon' as Duration)).toThrow(/^budget: Invalid duration "soon"/);
    expect(() => deadline.reserve('soon' as Duration)).toThrow(/^reserve: Invalid duration "soon"/);
    expect(() => deadline.allow('soon' as Duration)).toThrow(/^desired: Invalid duration "soon"/);
    expect(() => deadline.allow(1, 'soon' as Duration)).toThrow(/^reserve: Invalid duration "soon"/);
  });

  it('that was there before counts, of two for the same moment', () => {
    const [before, after] = [Deadline.after(100), Deadline.after(100)];

    expect(earliest(before, after)).toBe(before);
  });

  it('says how much is left, and never less than nothing', async () => {
    const deadline = Deadline.after('1s');
    await pass(400);
    expect(deadline).toMatchObject({ startedAt: START, expiresAt: START + 1_000, budgetMs: 1_000 });
    expect(deadline.remaining()).toBe(600);
    await pass(700);

    expect(deadline.remaining()).toBe(0);
  });

  it('has expired exactly when its budget is over', async () => {
    const deadline = Deadline.after(100);
    await pass(99);
    expect(deadline.expired).toBe(false);

    await pass(1);
    expect(deadline.expired).toBe(true);
  });

  it('is exhausted when less is left than it takes to start anything', async () => {
    const deadline = Deadline.after(100, { minRemainingMs: 10 });
    await pass(90);
    expect(deadline.exhausted).toBe(false);

    await pass(1);
    expect(deadline.exhausted).toBe(true);
    expect(deadline.expired).toBe(false);
  });

  it('starts no timer by itself', () => {
    Deadline.after(100);

    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([0, -1, NaN, Infinity, '', 'soon', '1e3ms', null, undefined])('is not made of %o', (budget) => {
    expect(() => Deadline.after(budget as Duration)).toThrow(TypeError);
    expect(() => Deadline.after(budget as Duration)).toThrow(/^budget: /);
  });
});

describe('what a deadline allows', () => {
  it.each([
    [300, 0, 300],
    [700, 0, 600],
    [700, 100, 500],
    [300, 300, 300],
    [300, 301, 299],
    [300, 600, 0],
    [300, 5_000, 0],
    ['1m', '100ms', 500],
  ] as const)('of %o with %o in reserve, when 600 ms are left, is %d ms', async (desired, reserve, allowed) => {
    const deadline = Deadline.after(1_000);
    await pass(400);

    expect(deadline.allow(desired, reserve)).toBe(allowed);
  });

  it('is asked for in durations', () => {
    expect(() => Deadline.after(1).allow(-1)).toThrow(/^desired: /);
    expect(() => Deadline.after(1).allow(1, NaN)).toThrow(/^reserve: /);
  });
});

describe('a reserve', () => {
  it('makes a deadline that comes that much earlier, with the same start', async () => {
    const whole = Deadline.after(1_500, { policy: 'page', minRemainingMs: 5, inherited: true });
    await pass(200);
    const early = whole.reserve('800ms');

    expect(early).toMatchObject({ startedAt: START, budgetMs: 700, expiresAt: START + 700 });
    expect(early).toMatchObject({ policy: 'page', minRemainingMs: 5, inherited: true });
    expect(early.remaining()).toBe(500);
  });

  it.each([100, 101, '1h'] as const)('of %o leaves nothing of 100 ms, and is refused', (amount) => {
    expect(() => Deadline.after(100).reserve(amount)).toThrow(/^reserve: \d+ ms leave nothing of a budget of 100 ms/);
  });
});

describe('the signal of a deadline', () => {
  it('aborts exactly then, with the error of the deadline', async () => {
    const { signal } = Deadline.after(100, { policy: 'page' });
    await pass(99);
    expect(signal.aborted).toBe(false);

    await pass(1);
    expect(signal.reason).toBeInstanceOf(DeadlineExceededError);
    expect(signal.reason).toMatchObject({ budgetMs: 100, policy: 'page' });
  });

  it('has one timer, however often it is read, from the first time', async () => {
    const deadline = Deadline.after(100);
    await pass(60);
    const { signal } = deadline;
    expect(deadline.signal).toBe(signal);
    expect(vi.getTimerCount()).toBe(1);

    await pass(40);
    expect(signal.aborted).toBe(true);
  });

  it('has aborted when it is first read afterwards', async () => {
    const deadline = Deadline.after(100);
    await pass(100);

    expect(deadline.signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that is over when it is released aborts all the same, though its timer has not fired yet', async () => {
    const deadline = Deadline.after(100);
    const { signal } = deadline;
    vi.setSystemTime(START + 100);
    deadline.release();
    await pass(100);

    expect(signal.aborted).toBe(true);
  });

  it('keeps no timer once it is released', async () => {
    const deadline = Deadline.after(100);
    const { signal } = deadline;
    deadline.release();
    expect(vi.getTimerCount()).toBe(0);
    await pass(100);

    expect(signal.aborted).toBe(false);
  });

  it('is released by whoever has set it, once the work has settled', async () => {
    const signals: Array<AbortSignal | undefined> = [];
    const read = ({ deadline }: AttemptContext): number => signals.push(deadline?.signal);
    await new BudgetPolicy(100).execute(read);
    await new RetryPolicy(1).execute(read, { budget: 100 });
    await fanOut({ a: required(read, { timeout: 50 }), b: required(read) }, { budget: 100 });
    await collect({ budget: 100 }).required('c', read);
    expect(vi.getTimerCount()).toBe(0);
    await pass(100);

    expect(signals.map((signal) => signal?.aborted)).toEqual([false, false, false, false, false]);
  });

  it('aborts for work that was given up, be that earlier', async () => {
    const caller = new AbortController();
    const signals: AbortSignal[] = [];
    const ignore = ({ deadline }: AttemptContext): Promise<never> => {
      if (deadline !== undefined) signals.push(deadline.signal);
      return hang();
    };
    const calls = [
      outcomeOf(new BudgetPolicy(100).execute(ignore, { signal: caller.signal })),
      outcomeOf(fanOut({ a: required(ignore) }, { budget: 100, signal: caller.signal })),
      outcomeOf(new BudgetPolicy(100).execute(ignore)),
      outcomeOf(fanOut({ a: required(ignore) }, { budget: 100 })),
    ];
    caller.abort();
    await pass(100);

    expect(calls.map(({ state }) => state)).toEqual(Array(4).fill('rejected'));
    expect(signals.map(({ aborted }) => aborted)).toEqual(Array(4).fill(true));
  });
});

describe('the earliest of two deadlines', () => {
  it('is the one that comes first', () => {
    const [early, late] = [Deadline.after(100), Deadline.after(101)];

    expect(earliest(early, late)).toBe(early);
    expect(earliest(late, early)).toBe(early);
    expect(earliest(undefined, late)).toBe(late);
  });
});

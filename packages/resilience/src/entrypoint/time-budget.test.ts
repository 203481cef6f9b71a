import { describe, expect, it, vi } from 'vitest';
import { timeBudget, type TimeBudgetInput } from './time-budget.js';

const budget = (input: Partial<TimeBudgetInput>) =>
  timeBudget({
    source: 'Shop.list',
    budgetMs: undefined,
    attempts: 1,
    timeout: 1_000,
    maxWaitMs: undefined,
    backoff: undefined,
    retryAfter: true,
    ...input,
  });

describe('the worst case of an entrypoint', () => {
  it('is 3.2 s for the quotes route of the tutorial', () => {
    expect(budget({ attempts: 2, timeout: 1_500, backoff: { delay: '200ms', maxDelay: '2s' } })).toEqual({
      source: 'Shop.list',
      worstCaseMs: 3_200,
      retryAfterMs: 1_800,
      arithmetic: '2 x 1500 ms + 200 ms of backoff = 3200 ms',
    });
  });

  it('is the timeout where nothing is repeated', () => {
    expect(budget({})).toMatchObject({ worstCaseMs: 1_000, retryAfterMs: 0, arithmetic: '1 x 1000 ms = 1000 ms' });
  });

  it('adds the scheduled waits before jitter, up to the longest one', () => {
    const { worstCaseMs } = budget({ attempts: 5, backoff: { delay: 100, factor: 2, maxDelay: 300, jitter: 'full' } });

    expect(worstCaseMs).toBe(5_000 + 100 + 200 + 300 + 300);
  });

  it('waits for the rate limit before each attempt', () => {
    expect(budget({ attempts: 3, maxWaitMs: 250, backoff: { delay: 0 } })).toMatchObject({
      worstCaseMs: 3_750,
      arithmetic: '3 x 1000 ms + 3 x 250 ms of rate limit + 0 ms of backoff = 3750 ms',
    });
  });

  it('sums a timeout function over its attempts', () => {
    expect(budget({ attempts: 3, timeout: (attempt) => attempt * 1_000, backoff: { delay: 0 } })).toMatchObject({
      worstCaseMs: 6_000,
      arithmetic: '(1000 + 2000 + 3000) ms + 0 ms of backoff = 6000 ms',
    });
  });

  it('reads durations that functions return as strings', () => {
    const { worstCaseMs } = budget({ attempts: 2, timeout: () => '2s', backoff: () => '0.5s' });

    expect(worstCaseMs).toBe(4_500);
  });

  it('asks a backoff function for the waits between attempts only', () => {
    const backoff = vi.fn((failed: number) => failed * 100);

    expect(budget({ attempts: 3, backoff }).worstCaseMs).toBe(3_300);
    expect(backoff.mock.calls).toEqual([
      [1, undefined],
      [2, undefined],
    ]);
  });

  it('counts a negative wait of a function as none', () => {
    expect(budget({ attempts: 2, backoff: () => -1 }).worstCaseMs).toBe(2_000);
  });

  it.each([
    ['nothing ends an attempt', { timeout: undefined }, /no timeout/],
    ['nothing ends the attempts', { attempts: Infinity }, /attempts: Infinity/],
    ['the timeout function gives no duration', { timeout: () => -1 }, /timeout function/],
    [
      'the timeout function throws',
      {
        timeout: () => {
          throw new Error('no');
        },
      },
      /timeout function/,
    ],
    [
      'the backoff function needs an error to decide',
      { attempts: 2, backoff: (_failed: number, error: unknown) => (error as Error).message.length },
      /backoff function/,
    ],
  ] satisfies [string, Partial<TimeBudgetInput>, RegExp][])('is Infinity where %s', (_case, input, reason) => {
    const { worstCaseMs, arithmetic } = budget(input);

    expect(worstCaseMs).toBe(Infinity);
    expect(arithmetic).toMatch(reason);
  });

  it('does not take long for a million attempts', () => {
    expect(budget({ attempts: 1_000_000, timeout: 10, backoff: { delay: 1, maxDelay: 5 } }).worstCaseMs).toBe(
      10_000_000 + 1 + 2 + 4 + 999_996 * 5,
    );
  });
});

describe('the worst case within a budget', () => {
  const sum = { attempts: 2, timeout: 1_500, backoff: { delay: '200ms', maxDelay: '2s' } } as const;

  it.each([
    [3_199, 3_199, '2 x 1500 ms + 200 ms of backoff = 3200 ms, at most the budget of 3199 ms'],
    [3_200, 3_200, '2 x 1500 ms + 200 ms of backoff = 3200 ms'],
    [9_000, 3_200, '2 x 1500 ms + 200 ms of backoff = 3200 ms'],
  ])('of %i ms is %i ms', (budgetMs, worstCaseMs, arithmetic) => {
    expect(budget({ ...sum, budgetMs })).toMatchObject({ worstCaseMs, arithmetic });
  });

  it.each([
    [3_000, 0],
    [3_200, 0],
    [4_000, 800],
    [5_000, 1_800],
    [9_000, 1_800],
  ])('of %i ms leaves hints %i ms', (budgetMs, retryAfterMs) => {
    expect(budget({ ...sum, budgetMs }).retryAfterMs).toBe(retryAfterMs);
  });

  it.each([
    ['an attempt', { timeout: undefined }],
    ['the attempts', { attempts: Infinity }],
  ])('is that budget where nothing else ends %s', (_what, input) => {
    expect(budget({ ...input, budgetMs: 3_000 })).toEqual({
      source: 'Shop.list',
      worstCaseMs: 3_000,
      retryAfterMs: 0,
      arithmetic: expect.stringMatching(
        /^(no timeout|attempts: Infinity).* = Infinity, at most the budget of 3000 ms$/,
      ),
    });
  });
});

describe('what Retry-After may add', () => {
  it('is the longest hint in place of each scheduled wait', () => {
    expect(budget({ attempts: 3, backoff: { delay: 100, maxDelay: '1s' } }).retryAfterMs).toBe(2_000 - 300);
  });

  it('is 30 s for each wait of a backoff function', () => {
    expect(budget({ attempts: 2, backoff: () => 500 }).retryAfterMs).toBe(29_500);
  });

  it('is nothing when hints are turned off', () => {
    expect(budget({ attempts: 3, retryAfter: false }).retryAfterMs).toBe(0);
  });
});

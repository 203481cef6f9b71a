import { describe, expect, it } from 'vitest';
import { AnswerBudgets } from './answer-budgets.js';
import type { TimeBudget } from './time-budget.js';

const entrypoint = (worstCaseMs: number): TimeBudget => ({
  source: 'PagesController.page',
  worstCaseMs,
  retryAfterMs: 500,
  arithmetic: `1 x ${worstCaseMs} ms = ${worstCaseMs} ms`,
});

describe('the budget of a fan-out', () => {
  it('is unknown until it has run, and under the other entrypoints', () => {
    const answers = new AnswerBudgets();
    answers.note('PagesController.other', { name: 'page', budgetMs: 100 });

    expect(answers.under(entrypoint(1_000))).toEqual([]);
  });

  it.each([
    [1_000, 300, 300, 'its own budget of 300 ms'],
    [1_000, 999, 999, 'its own budget of 999 ms'],
    [1_000, 1_000, 1_000, 'at most the 1000 ms around'],
    [1_000, Infinity, 1_000, 'at most the 1000 ms around'],
    [Infinity, 300, 300, 'its own budget of 300 ms'],
    [Infinity, Infinity, Infinity, 'no budget here or around: each section ends by its own limit = Infinity'],
  ])('within %d ms, with %d ms of its own, is %d ms', (aroundMs, budgetMs, worstCaseMs, arithmetic) => {
    const answers = new AnswerBudgets();
    answers.note('PagesController.page', { name: 'page', budgetMs });

    expect(answers.under(entrypoint(aroundMs))).toEqual([
      { source: 'PagesController.page > page', worstCaseMs, retryAfterMs: 0, arithmetic },
    ]);
  });

  it('is the longest that was seen under its name', () => {
    const answers = new AnswerBudgets();
    for (const budgetMs of [200, 400, 300]) answers.note('PagesController.page', { name: 'page', budgetMs });

    expect(answers.under(entrypoint(1_000)).map(({ worstCaseMs }) => worstCaseMs)).toEqual([400]);
  });

  it('is forgotten where names are made for each call, beyond a hundred', () => {
    const answers = new AnswerBudgets();
    for (let call = 1; call <= 1_000; call++) {
      answers.note('PagesController.page', { name: `page ${call}`, budgetMs: 1 });
    }
    answers.note('PagesController.page', { name: 'page 100', budgetMs: 7 });

    expect(answers.under(entrypoint(1_000))).toHaveLength(100);
    expect(answers.under(entrypoint(1_000)).at(-1)?.worstCaseMs).toBe(7);
  });
});

import type { TimeBudget } from './time-budget.js';

/** A fan-out, or an answer that is built step by step. */
export interface BegunAnswer {
  readonly name: string;
  /** In milliseconds; `Infinity` without a budget of its own. */
  readonly budgetMs: number;
}

/** Of each entrypoint. A name may be made for each call. */
const MOST_NAMES = 100;

/** What fan-outs add to the budgets of entrypoints: bootstrap cannot see them, so each is known once it has run. */
export class AnswerBudgets {
  /** The longest budget by the name of the fan-out, by the entrypoint. */
  readonly #known = new Map<string, Map<string, number>>();

  note(source: string, { name, budgetMs }: BegunAnswer): void {
    const known = this.#known.get(source) ?? new Map<string, number>();
    if (!known.has(name) && known.size >= MOST_NAMES) return;

    this.#known.set(source, known.set(name, Math.max(budgetMs, known.get(name) ?? 0)));
  }

  /** Those under an entrypoint, each bounded by that or by itself. */
  under(entrypoint: TimeBudget): TimeBudget[] {
    const known = this.#known.get(entrypoint.source) ?? [];

    return [...known].map(([name, budgetMs]) => boundBy(entrypoint, { name, budgetMs }));
  }
}

function boundBy({ source, worstCaseMs }: TimeBudget, { name, budgetMs }: BegunAnswer): TimeBudget {
  return {
    source: `${source} > ${name}`,
    worstCaseMs: Math.min(worstCaseMs, budgetMs),
    retryAfterMs: 0,
    arithmetic: arithmeticOf(worstCaseMs, budgetMs),
  };
}

function arithmeticOf(aroundMs: number, ownMs: number): string {
  if (ownMs < aroundMs) return `its own budget of ${ownMs} ms`;

  return aroundMs === Infinity
    ? 'no budget here or around: each section ends by its own limit = Infinity'
    : `at most the ${aroundMs} ms around`;
}

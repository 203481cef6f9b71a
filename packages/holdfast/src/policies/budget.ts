import { brand } from '../brand.js';
import { BudgetStage, type ResolvedBudget } from '../budget-stage.js';
import { readMinRemaining } from '../deadline.js';
import { parseDuration, type Duration } from '../duration.js';
import { EventSource, type ResilienceListener } from '../events.js';
import { rejectUnknown, requireName, requireObject } from '../options.js';
import { Pipeline } from '../pipeline.js';
import { ResiliencePolicy } from '../policy.js';

export interface BudgetOptions {
  /** Shown in events and errors. Default `'budget'`. */
  readonly name?: string | undefined;
  /** Greater than 0. */
  readonly budget: Duration;
  /** Nothing is started with less left. Default 1 ms. */
  readonly minRemaining?: Duration | undefined;
}

/**
 * Validates options and fills in the defaults.
 *
 * @throws TypeError naming the option.
 */
export function resolveBudget(options: BudgetOptions): ResolvedBudget {
  requireObject(options, '', "Use a duration such as '1s', or { budget: '1s' }.");
  rejectUnknown(options, ['name', 'budget', 'minRemaining']);
  const { name = 'budget', budget, minRemaining } = options;
  const budgetMs = parseDuration(budget, '', { positive: true });
  const minRemainingMs = minRemaining === undefined ? 1 : readMinRemaining(minRemaining, budgetMs);

  return { name: requireName(name, 'name'), budgetMs, minRemainingMs, inherited: false };
}

/**
 * Gives a call an amount of time for all that it does: attempts, the waits between them, queues. What is inside is
 * bounded by what is left, and nothing is started when nothing is left; a wait that does not fit is not begun. When
 * the budget is over the call fails with a `DeadlineExceededError`.
 */
export class BudgetPolicy extends ResiliencePolicy {
  readonly name: string;
  /** In milliseconds. */
  readonly budget: number;
  /** @internal */
  readonly pipeline: Pipeline;
  protected readonly events = new EventSource();

  constructor(options: Duration | BudgetOptions) {
    super();
    const resolved = resolveBudget(typeof options === 'object' ? options : { budget: options });
    this.name = resolved.name;
    this.budget = resolved.budgetMs;
    this.pipeline = new Pipeline([new BudgetStage(resolved, this.events)]);
  }

  subscribe(listener: ResilienceListener): () => void {
    return this.events.subscribe(listener);
  }
}

brand(BudgetPolicy, Symbol.for('holdfast.policy.budget'));

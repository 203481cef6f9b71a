import { BudgetStage } from '../src/budget-stage.js';
import { Pipeline } from '../src/pipeline.js';
import { BudgetPolicy } from '../src/policies/budget.js';

/** A budget that was set by the caller on the other side of the wire. */
export class WireBudget extends BudgetPolicy {
  override readonly pipeline = new Pipeline([
    new BudgetStage({ name: 'wire', budgetMs: this.budget, minRemainingMs: 1, inherited: true }, this.events),
  ]);
}

import type { ExecutionContext } from '@nestjs/common';
import { readDeadline } from 'holdfast';
import { BudgetStage, type Pipeline } from 'holdfast/binding';
import type { Settings } from '../settings.js';
import type { Plan } from './plan.js';

const MIN_REMAINING_MS = 1;

interface HttpRequest {
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** What HTTP callers say about how long they will wait, in the headers that the application trusts. */
export class InboundDeadlines {
  private readonly headers: readonly string[];
  private readonly minRemainingMs: number;

  constructor({ deadlineHeaders, minRemainingMs = MIN_REMAINING_MS }: Settings) {
    this.headers = deadlineHeaders;
    this.minRemainingMs = minRemainingMs;
  }

  /** How long the caller will wait, in milliseconds; `undefined` when it does not say, or not properly. */
  read(context: ExecutionContext): number | undefined {
    if (this.headers.length === 0 || context.getType() !== 'http') return undefined;

    const headers = context.getArgByIndex<HttpRequest | undefined>(0)?.headers;
    return headers && readDeadline(this.headers, (name) => headers[name]);
  }

  /** Whether there is too little to start anything. */
  isOver(patienceMs: number): boolean {
    return patienceMs < this.minRemainingMs;
  }

  /** The stages of a call with a caller of that patience. It only ever shortens what the handler has. */
  bound(pipeline: Pipeline, { source, budgetMs, events }: Plan, patienceMs: number): Pipeline {
    if (budgetMs !== undefined && budgetMs <= patienceMs) return pipeline;

    const { minRemainingMs } = this;
    return pipeline.within(
      new BudgetStage({ name: source, budgetMs: patienceMs, minRemainingMs, inherited: true }, events),
    );
  }
}

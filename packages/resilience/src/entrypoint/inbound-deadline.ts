import type { ExecutionContext } from '@nestjs/common';
import { readDeadline } from 'holdfast';
import { BudgetStage, type Pipeline } from 'holdfast/binding';
import type { Settings } from '../settings.js';
import type { Transport } from '../transports/transport.js';
import type { Plan } from './plan.js';

const MIN_REMAINING_MS = 1;

/** What callers say about how long they will wait: by their protocol, or in the headers that the application trusts. */
export class InboundDeadlines {
  private readonly headers: readonly string[];
  private readonly marginMs: number;
  private readonly minRemainingMs: number;

  constructor({ deadlineHeaders, deadlineMarginMs, minRemainingMs = MIN_REMAINING_MS }: Settings) {
    this.headers = deadlineHeaders;
    this.marginMs = deadlineMarginMs;
    this.minRemainingMs = minRemainingMs;
  }

  /** How long there is for the caller, in milliseconds; `undefined` when it does not say, or not properly. */
  read(transport: Transport, context: ExecutionContext): number | undefined {
    const told = this.readHeaders(transport, context);
    const known = transport.patienceOf?.(context);
    if (told === undefined && known === undefined) return undefined;

    return Math.max(0, Math.min(told ?? Infinity, known ?? Infinity) - this.marginMs);
  }

  private readHeaders(transport: Transport, context: ExecutionContext): number | undefined {
    if (this.headers.length === 0 || transport.headerOf === undefined) return undefined;

    return readDeadline(this.headers, (name) => transport.headerOf?.(context, name));
  }

  /** Whether there is too little to start anything. */
  isOver(patienceMs: number): boolean {
    return patienceMs === 0 || patienceMs < this.minRemainingMs;
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

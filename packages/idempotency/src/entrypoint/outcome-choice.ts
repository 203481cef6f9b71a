import { PartialResponse } from 'holdfast';
import { decision } from 'holdfast/binding';
import type { ExecutionContext } from '@nestjs/common';
import type { CallReports } from '../execution/call-reports.js';
import type { IdempotencyReleasedEvent } from '../idempotency.events.js';
import type { IdempotencyStoredResponse } from '../store.js';
import type { Outcome, Transport } from '../transports/transport.js';
import type { WarnOnce } from '../warn-once.js';
import type { HandlerPlan } from './handler-plans.js';

/** What becomes of an outcome: it is kept, or its key is given back. */
export type Choice =
  { readonly keep: IdempotencyStoredResponse } | { readonly free: IdempotencyReleasedEvent['reason'] };

/** Decides which outcomes of a handler are kept. */
export class OutcomeChoice {
  constructor(
    private readonly plan: HandlerPlan,
    private readonly transport: Transport,
    private readonly warnings: WarnOnce,
  ) {}

  /** Never throws: what an application's own code throws here is logged, and nothing is kept. */
  of(outcome: Outcome, context: ExecutionContext, reports: CallReports): Choice {
    try {
      return this.choose(outcome, context);
    } catch (error) {
      reports.captureFailed(error);
      return { free: 'unstorable' };
    }
  }

  private choose(outcome: Outcome, context: ExecutionContext): Choice {
    const { storeIf, storePartial } = this.plan.settings;
    if (!storePartial && isDegraded(outcome)) return { free: 'outcome' };

    const stored = this.transport.store(outcome, context);
    if ('unstorable' in stored) {
      this.warn(`${stored.unstorable}; such answers are not kept, and a repeated call runs the handler again.`);
      return { free: 'unstorable' };
    }

    const isKept = outcome.kind === 'error' ? storeIf(stored.status, outcome.error) : storeIf(stored.status);
    if (!decision(isKept, 'storeIf')) return { free: 'outcome' };
    if (this.isTooLarge(stored.body)) {
      this.warn('gave an answer larger than maxBodySize, which is not kept: a repeated call runs the handler again.');
      return { free: 'too-large' };
    }

    return { keep: stored };
  }

  /** A handler that completed without a value. */
  ofNothing(): Choice {
    this.warn('completed without a value; that is not kept, and a repeated call runs the handler again.');

    return { free: 'unstorable' };
  }

  /** A handler whose values have left one by one. */
  ofStream(): Choice {
    this.warn('answered with a stream, which cannot be replayed: a repeated call runs the handler again.');

    return { free: 'unstorable' };
  }

  private isTooLarge(body: unknown): boolean {
    const { maxBodySize } = this.plan.settings;
    if (maxBodySize === Infinity || body === undefined) return false;

    return Buffer.byteLength(JSON.stringify(body)) > maxBodySize;
  }

  private warn(message: string): void {
    this.warnings.warn('unreplayable', this.plan, message);
  }
}

function isDegraded(outcome: Outcome): boolean {
  return outcome.kind === 'value' && outcome.value instanceof PartialResponse && outcome.value.partial;
}

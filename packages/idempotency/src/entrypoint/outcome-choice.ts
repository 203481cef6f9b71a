import { ClientDisconnectedError } from 'holdfast';
import { partialIn } from 'holdfast/nest';
import type { ExecutionContext } from '@nestjs/common';
import type { CallReports } from '../execution/call-reports.js';
import { IdempotencyLockLostError } from '../execution/lock.js';
import { IdempotencyRejectedError } from '../execution/rejection.js';
import { chooseBySettings, type Choice } from '../execution/choice.js';
import type { Outcome, Transport } from '../transports/transport.js';
import type { WarnOnce } from '../warn-once.js';
import type { HandlerPlan } from './handler-plans.js';

/** Decides which outcomes of a handler are kept. */
export class OutcomeChoice {
  constructor(
    private readonly plan: HandlerPlan,
    private readonly transport: Transport,
    private readonly warnings: WarnOnce,
  ) {}

  /** Never rejects: what an application's own code throws here is logged, and nothing is kept. */
  async of(outcome: Outcome, context: ExecutionContext, reports: CallReports): Promise<Choice> {
    try {
      return await this.choose(outcome, context);
    } catch (error) {
      reports.captureFailed(error);
      return { free: 'unstorable' };
    }
  }

  private async choose(outcome: Outcome, context: ExecutionContext): Promise<Choice> {
    const { settings } = this.plan;
    if (isCutOff(outcome) || (!settings.storePartial && isDegraded(outcome))) return { free: 'outcome' };
    if (outcome.kind === 'error' && this.transport.isCutShort?.(context) === true) return { free: 'outcome' };

    const stored = await this.transport.store(outcome, context);
    if ('unstorable' in stored) {
      this.warn(`${stored.unstorable}; such answers are not kept, and a repeated call runs the handler again.`);
      return { free: 'unstorable' };
    }
    if (!settings.storePartial && stored.degraded !== undefined) return { free: 'outcome' };

    const choice = chooseBySettings(stored, settings, ...(outcome.kind === 'error' ? [outcome.error] : []));
    if ('free' in choice && choice.free === 'too-large') {
      this.warn('gave an answer larger than maxBodySize, which is not kept: a repeated call runs the handler again.');
    }
    return choice;
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

  private warn(message: string): void {
    this.warnings.warn('unreplayable', this.plan, message);
  }
}

function isDegraded(outcome: Outcome): boolean {
  return outcome.kind === 'value' && partialIn(outcome.value)?.partial === true;
}

/**
 * Given up because its client had left or its key was lost, or refused by the service on the way: whatever its status is,
 * it says nothing of the work.
 */
function isCutOff(outcome: Outcome): boolean {
  if (outcome.kind !== 'error' || !(outcome.error instanceof Error)) return false;

  return [outcome.error, outcome.error.cause].some(
    (error) =>
      error instanceof ClientDisconnectedError ||
      error instanceof IdempotencyLockLostError ||
      error instanceof IdempotencyRejectedError,
  );
}

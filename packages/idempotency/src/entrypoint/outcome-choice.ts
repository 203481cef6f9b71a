import { partialIn } from 'holdfast/nest';
import type { ExecutionContext } from '@nestjs/common';
import type { CallReports } from '../execution/call-reports.js';
import { chooseBySettings, isCutOff, type Choice } from '../execution/choice.js';
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
    if (outcome.kind === 'error' && this.saysNothing(outcome.error, context)) return { free: 'outcome' };
    if (!settings.storePartial && isDegraded(outcome)) return { free: 'outcome' };

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

  /** Of the work, whatever its status is. */
  private saysNothing(error: unknown, context: ExecutionContext): boolean {
    return isCutOff(error) || this.transport.isCutShort?.(context) === true;
  }

  private warn(message: string): void {
    this.warnings.warn('unreplayable', this.plan, message);
  }
}

function isDegraded(outcome: Outcome): boolean {
  return outcome.kind === 'value' && partialIn(outcome.value)?.partial === true;
}

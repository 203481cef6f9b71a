import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { Subscriber } from 'rxjs';
import type { Choice } from '../execution/choice.js';
import { log } from '../log.js';
import type { HeldCall } from '../execution/held-call.js';
import type { KeyedCalls } from '../execution/keyed-calls.js';
import { IdempotencyLockLostError } from '../execution/lock.js';
import { IdempotencyRejectedError } from '../execution/rejection.js';
import type { IdempotencyEvents } from '../idempotency.events.js';
import type { IdempotencyStoredResponse } from '../store.js';
import type { Transport } from '../transports/transport.js';
import type { WarnOnce } from '../warn-once.js';
import { CallIdentity } from './call-identity.js';
import type { HandlerPlan } from './handler-plans.js';
import { HandlerRun, type HandlerEnd } from './handler-run.js';
import { OutcomeChoice } from './outcome-choice.js';

export interface ProtectedCallParts {
  readonly plan: HandlerPlan;
  readonly transport: Transport;
  readonly calls: KeyedCalls;
  readonly events: IdempotencyEvents;
  readonly warnings: WarnOnce;
  readonly context: ExecutionContext;
  readonly next: CallHandler;
}

/** One call of a decorated handler, from its key to its answer. */
export class ProtectedCall {
  private hasLeft = false;
  private isIdentified = false;
  private run: HandlerRun | undefined = undefined;

  constructor(
    private readonly parts: ProtectedCallParts,
    private readonly subscriber: Subscriber<unknown>,
  ) {}

  /** Never rejects: what goes wrong is the answer. */
  async answer(): Promise<void> {
    try {
      await this.decide();
    } catch (error) {
      if (error instanceof IdempotencyRejectedError) this.refuse(error);
      else this.subscriber.error(error);
    }
  }

  /** Nobody waits for the answer any more. */
  leave(): void {
    this.hasLeft = true;
    this.run?.leave();
  }

  private async decide(): Promise<void> {
    const { plan, transport, warnings, context, calls } = this.parts;
    const call = await new CallIdentity(plan, transport, warnings).of(context);
    this.isIdentified = true;
    if (this.hasLeft) return;
    if (call === undefined) return this.passThrough();

    const admission = await calls.admit(call, () => this.hasLeft);
    if (admission.kind === 'run') return await this.handle(admission.held);
    if (admission.kind === 'unprotected') return this.passThrough();

    this.replay(admission.response);
  }

  private refuse(rejection: IdempotencyRejectedError): void {
    const { plan, transport, events } = this.parts;
    if (!this.isIdentified) {
      const { code, status } = rejection;
      events.emit({ type: 'rejected', context: transport.context, handler: plan.source, code, status });
    }
    if (!this.isDropped(rejection)) return this.subscriber.error(this.refusal(rejection));

    log('error', `${plan.source} did not take an event: ${rejection.message} (${rejection.code}).`);
    this.subscriber.next(undefined);
    this.subscriber.complete();
  }

  /** Where that cannot be told, the caller is: whoever is told nothing comes again, or waits. */
  private isDropped(rejection: IdempotencyRejectedError): boolean {
    const { transport, context } = this.parts;
    try {
      return transport.dropsRejected?.(rejection, context) === true;
    } catch {
      return false;
    }
  }

  /** A response that has been sent by others takes no header, and is no reason for the process to fall. */
  private refusal(rejection: IdempotencyRejectedError): unknown {
    const { transport, context } = this.parts;
    try {
      return transport.reject(rejection, context);
    } catch (error) {
      return error;
    }
  }

  private passThrough(): void {
    if (this.hasLeft) return;

    this.parts.next.handle().subscribe(this.subscriber);
  }

  private replay(response: IdempotencyStoredResponse): void {
    this.subscriber.next(this.parts.transport.replay(response, this.parts.context));
    this.subscriber.complete();
  }

  private async handle(held: HeldCall): Promise<void> {
    // Taken for somebody who has left meanwhile.
    if (this.hasLeft) return await held.settle({ free: 'unsubscribed' });

    const { transport, next } = this.parts;
    const run = new HandlerRun({
      answersOnce: transport.answersOnce,
      emit: (value) => this.subscriber.next(value),
    });
    this.run = run;
    const end = await held.run(
      () => run.run(() => next.handle()),
      (value) => this.kept(value),
    );
    // First the store, then the caller: who repeats the call as soon as it has been answered meets the record.
    await held.settle(await this.choiceOf(end, held));
    this.pass(end);
  }

  /** What the handler keeps by itself becomes the answer that it would be if it were returned. */
  private async kept(value: unknown): Promise<IdempotencyStoredResponse> {
    const { transport, context, plan } = this.parts;
    const stored = await transport.store({ kind: 'value', value }, context);
    if (!('unstorable' in stored)) return stored;

    throw new TypeError(`${plan.source}() cannot keep its answer: it ${stored.unstorable}.`);
  }

  private async choiceOf(end: HandlerEnd, held: HeldCall): Promise<Choice> {
    const { plan, transport, warnings, context } = this.parts;
    const choice = new OutcomeChoice(plan, transport, warnings);
    if (end.kind === 'empty') return choice.ofNothing();
    if (end.kind === 'streamed') return choice.ofStream();

    return await choice.of(end, context, held.reports);
  }

  /**
   * A call that ends because another one may have its key has a remedy: to ask again, for the answer of that one. And
   * what the service has refused inside of the handler is as much of an answer as what is refused in front of it.
   */
  private answerTo(error: unknown): unknown {
    if (error instanceof IdempotencyRejectedError) return this.refusal(error);
    if (!(error instanceof IdempotencyLockLostError)) return error;

    return this.refusal(
      new IdempotencyRejectedError('IDEMPOTENCY_KEY_IN_USE', 'The lock of this idempotency key was lost', {
        retryAfterMs: this.parts.plan.settings.retryAfter,
        cause: error,
      }),
    );
  }

  private pass(end: HandlerEnd): void {
    if (end.kind === 'error') return this.subscriber.error(this.answerTo(end.error));
    if (end.kind === 'streamed' && end.error !== undefined) return this.subscriber.error(end.error.reason);

    if (end.kind === 'value') this.subscriber.next(end.value);
    this.subscriber.complete();
  }
}

import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { Attempt, Pipeline, Work } from 'holdfast/binding';
import type { Subscriber } from 'rxjs';
import { ObservableExecution } from './observable.js';
import type { Plan } from './plan.js';
import type { ResponseState } from '../transports/http-response.js';
import { isStreamedBody } from '../transports/transfer.js';

/** One call of an entrypoint. */
export interface EntrypointCall {
  readonly context: ExecutionContext;
  readonly next: CallHandler;
  readonly subscriber: Subscriber<unknown>;
  readonly plan: Plan;
  readonly repeats: boolean;
  /** Over HTTP: what has happened to the response. Server-sent events begin with the first one, not with the head. */
  readonly response: ResponseState | undefined;
  /** Whether the transport answers once, with the last value, when the handler has completed. */
  readonly answersAtEnd: boolean;
  /** The transport's error in place of a policy's; absent when errors leave as they are. */
  readonly translate: ((error: unknown, context: ExecutionContext) => unknown) | undefined;
}

/**
 * The execution around a handler. Where the transport answers once, values are held back until the handler completes:
 * until then nothing has left, so the answer can still be limited, repeated and replaced.
 */
export class EntrypointExecution extends ObservableExecution {
  private readonly call: EntrypointCall;
  private held: unknown[] | undefined = undefined;

  constructor(pipeline: Pipeline, call: EntrypointCall) {
    const { next, plan, repeats, subscriber } = call;
    super(pipeline, plan, { subscriber, repeats, work: () => next.handle() });
    this.call = call;
    this.opensScope = true;
  }

  /** Fallback handlers are told the call that they answer. */
  override get subject(): unknown {
    return this.call.context;
  }

  override isCommitted(): boolean {
    return super.isCommitted() || this.call.response?.headersSent() === true;
  }

  /** Neither an attempt nor a fallback answers with values of what has failed before it. */
  protected override performHandler(attempt: Attempt, work: Work): void {
    this.held = undefined;
    super.performHandler(attempt, work);
  }

  override onValue(attempt: Attempt, value: unknown): void {
    if (!this.call.answersAtEnd) super.onValue(attempt, value);
    else if (this.call.response?.canBeFollowed === true && isStreamedBody(value)) this.sendStream(attempt, value);
    else (this.held ??= []).push(value);
  }

  protected override deliver(ok: boolean, value: unknown): void {
    if (ok && this.held !== undefined) for (const held of this.held) this.subscriber.next(held);
    this.held = undefined;
    const { context, translate } = this.call;
    super.deliver(ok, ok || translate === undefined ? value : translate(value, context));
  }

  /** A body that is still to be read leaves now; the call ends, and gives back what it holds, with its transfer. */
  private sendStream(attempt: Attempt, body: unknown): void {
    this.commit();
    this.stopListening();
    const sent = this.call.response?.followTransfer(body, (outcome) => {
      if (outcome.state === 'left') this.onAbort(new DOMException('The client has gone', 'AbortError'));
      else this.settle(attempt, outcome.state === 'sent', outcome.error);
    });
    this.subscriber.next(sent);
    this.completeEarly();
  }
}

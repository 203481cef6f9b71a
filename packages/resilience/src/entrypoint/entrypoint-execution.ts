import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { ClientDisconnectedError, DeadlineExceededError } from 'holdfast';
import { discount, type Attempt, type Pipeline, type Work } from 'holdfast/binding';
import type { Subscriber } from 'rxjs';
import type { AnswerBudgets } from './answer-budgets.js';
import { Approach, outsideApproaches, runOn } from './approach.js';
import { ObservableExecution } from './observable.js';
import type { Plan } from './plan.js';
import { SERVED_CALL, type ServedCall } from './served-call.js';
import type { Exchange, StreamedBodies, Transport } from '../transports/transport.js';

/** A call whose answer or error is about to leave. */
export interface OutletCall {
  readonly context: ExecutionContext;
  readonly transport: Transport;
}

/** What is sent in place of a value. */
export function sentFor(value: unknown, { context, transport }: OutletCall): unknown {
  return transport.outgoing === undefined ? value : transport.outgoing(value, context);
}

/** The way to whoever waits for an answer. */
export interface Way {
  readonly subscriber: Subscriber<unknown>;
  /** Whether something of an answer has left on it. */
  readonly hasBegun: boolean;
}

/** The application's side of all calls. */
export interface Outlet {
  /** Ends a call with an error: with that which leaves in its place. */
  readonly fail: (error: unknown, call: OutletCall, way: Way) => void;
  /** What leaves in place of an error. */
  readonly translate: (error: unknown, call: OutletCall) => unknown;
  /** Tells `events$`. */
  readonly tell: ServedCall['tell'];
  /** The fan-outs of its handlers. */
  readonly answers: AnswerBudgets;
}

/** One call of an entrypoint. */
export interface EntrypointCall extends OutletCall {
  readonly next: CallHandler;
  readonly subscriber: Subscriber<unknown>;
  readonly plan: Plan;
  readonly repeats: boolean;
  /** Where it can be seen what becomes of the call on the wire. */
  readonly exchange: Exchange | undefined;
  /** Whether the transport answers once, with the last value, when the handler has completed. */
  readonly answersAtEnd: boolean;
  /** Whether it is given up when its client leaves. */
  readonly endsWithClient: boolean;
  readonly outlet: Outlet;
}

/**
 * The execution around a handler. Where the transport answers once, values are held back until the handler completes:
 * until then nothing has left, so the answer can still be limited, repeated and replaced.
 */
export class EntrypointExecution extends ObservableExecution {
  protected readonly call: EntrypointCall;
  protected held: unknown[] | undefined = undefined;
  /** Whether a fallback answers. */
  private isReplaced = false;
  private goneReason: ClientDisconnectedError | undefined = undefined;
  private stopWatching: (() => void) | undefined = undefined;
  private served: ServedCall | undefined = undefined;
  /** Of the attempt that runs. */
  private approach: Approach | undefined = undefined;

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

  /** What code inside finds when it asks whose call it is part of. */
  get [SERVED_CALL](): ServedCall {
    const { context, outlet, plan } = this.call;

    return (this.served ??= {
      source: plan.source,
      className: context.getClass().name,
      tell: outlet.tell,
      noteAnswer: (answer) => outlet.answers.note(plan.source, answer),
      loggedSections: new Set(),
    });
  }

  /** Server-sent events begin with the first one, not with the head. */
  override isCommitted(): boolean {
    return super.isCommitted() || (!this.call.plan.streamsEvents && this.call.exchange?.hasBegun() === true);
  }

  override start(): void {
    const { endsWithClient, exchange } = this.call;
    if (!endsWithClient || exchange === undefined) return super.start();
    if (exchange.clientLeft) return this.onAbort(this.clientGone());

    this.stopWatching = exchange.onClientLeft(() => this.leaveWithClient());
    super.start();
  }

  /** What goes on without its client has to tell when it ends. */
  override get holdsForWork(): boolean {
    return super.holdsForWork || this.outlivesClient;
  }

  override unsubscribe(): void {
    const { exchange } = this.call;
    if (this.outlivesClient && exchange?.clientLeft === true && this.isHandling && !this.isCommitted()) {
      this.delivered = true;
      this.approach?.endWithStream(() => this.onAbort(this.reasonOfLeaving()));
      return;
    }
    super.unsubscribe();
  }

  /** A handler may end the connection of its own client before it has returned a promise. */
  private get isHandling(): boolean {
    return this.isWatched || this.approach?.isBeginning === true;
  }

  /** Whether handlers that have been started are let run to their end, under their limits, when their client leaves. */
  private get outlivesClient(): boolean {
    return !this.call.endsWithClient && this.call.exchange?.outlivesClient === true;
  }

  /** Neither an attempt nor a fallback answers with values of what has failed before it. */
  protected override performHandler(attempt: Attempt, work: Work): void {
    this.held = undefined;
    const perform = (): void => super.performHandler(attempt, work);
    if (this.isReplaced) {
      this.approach = undefined;
      return outsideApproaches(perform);
    }
    const { context, plan } = this.call;
    this.approach = new Approach(attempt, context.getClass(), plan.signalsAt);
    runOn(this.approach, perform);
  }

  override settle(attempt: Attempt, ok: boolean, value: unknown): void {
    if (!ok && this.approach?.attempt === attempt) this.approach.fail(value);
    super.settle(attempt, ok, value);
  }

  override substitute(at: number, handler: Work): void {
    this.isReplaced = true;
    super.substitute(at, handler);
  }

  override onValue(attempt: Attempt, value: unknown): void {
    const { answersAtEnd, exchange } = this.call;
    const bodies = exchange?.bodies;
    if (!answersAtEnd) this.sendValue(attempt, value);
    else if (bodies?.isStreamed(value) === true) this.sendStream(attempt, bodies, value);
    else (this.held ??= []).push(value);
  }

  /** Nest unsubscribes from streams whose client has left, maybe before we have heard of it. */
  protected override reasonOfLeaving(): unknown {
    const { exchange, plan } = this.call;
    if (exchange?.clientLeft === true) return this.clientGone();
    if (exchange?.overAfterMs === undefined) return super.reasonOfLeaving();

    // Set by the caller, so no fault of what was called.
    const error = deadlineMet(plan, exchange.overAfterMs);
    discount(error);
    return error;
  }

  protected override deliver(ok: boolean, value: unknown): void {
    this.endWatch();
    const { held } = this;
    this.held = undefined;
    if (ok && held !== undefined) {
      try {
        this.release(held);
      } catch (error) {
        return super.deliver(false, error);
      }
    }
    const { plan, transport } = this.call;
    const left = !ok && this.isOfOurClient(value);
    // Events cannot be answered with an error any more; Nest unsubscribes from them.
    if (left && plan.streamsEvents) this.delivered = true;
    else if (left && transport.endsSilently === true) super.deliver(true, undefined);
    else super.deliver(ok, value);
  }

  /** Work that several calls share may have ended with the client of another one; ours is there, and gets an answer. */
  protected isOfOurClient(error: unknown): boolean {
    if (!(error instanceof ClientDisconnectedError)) return false;

    return error === this.goneReason || this.call.exchange?.clientLeft === true;
  }

  protected override fail(error: unknown): void {
    const { call, subscriber } = this;
    call.outlet.fail(error, call, { subscriber, hasBegun: this.isCommitted() });
  }

  private sendValue(attempt: Attempt, value: unknown): void {
    const { exchange } = this.call;
    exchange?.onSent?.();
    if (this.isReplaced) exchange?.onReplaced?.(value);
    super.onValue(attempt, sentFor(value, this.call));
  }

  private release(values: readonly unknown[]): void {
    const { call, subscriber } = this;
    call.transport.mark?.(values.at(-1), call.context);
    for (const sent of values.map((value) => sentFor(value, call))) subscriber.next(sent);
  }

  /** A body that is still to be read leaves now; the call ends, and gives back what it holds, with its transfer. */
  private sendStream(attempt: Attempt, bodies: StreamedBodies, body: unknown): void {
    this.commit();
    this.stopListening();
    this.endWatch();
    const sent = bodies.followTransfer(body, (outcome) => {
      if (outcome.state === 'left') this.leaveWithClient();
      else this.settle(attempt, outcome.state === 'sent', outcome.error);
    });
    this.subscriber.next(sent);
    this.completeEarly();
  }

  protected leaveWithClient(): void {
    const { step } = this;
    const reason = this.clientGone();
    if (this.step === step) this.onAbort(reason);
  }

  private clientGone(): ClientDisconnectedError {
    const { source, events } = this.call.plan;
    if (events.isObserved('client-gone')) events.emit({ type: 'client-gone', policy: source, source });

    this.goneReason = new ClientDisconnectedError(source);
    return this.goneReason;
  }

  protected endWatch(): void {
    this.stopWatching?.();
    this.stopWatching = undefined;
  }
}

/** The caller waits no longer. */
export function deadlineMet({ source, events }: Plan, budgetMs: number): DeadlineExceededError {
  if (events.isObserved('deadline')) events.emit({ type: 'deadline', policy: source, source, budgetMs });

  return new DeadlineExceededError(budgetMs, source);
}

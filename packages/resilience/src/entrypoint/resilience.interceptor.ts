import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { ClientDisconnectedError, ResilienceError } from 'holdfast';
import { Observable, Subscriber } from 'rxjs';
import { PolicyRegistry } from '../registry.js';
import type { AbortOnDisconnect } from '../resilience.options.js';
import { Transports } from '../transports/transports.js';
import {
  deadlineMet,
  EntrypointExecution,
  sentFor,
  type EntrypointCall,
  type Outlet,
  type OutletCall,
} from './entrypoint-execution.js';
import { isAsyncIterable, OpenedEvents, OutgoingEvents } from './event-streams.js';
import { InboundDeadlines } from './inbound-deadline.js';
import { Planner, type Plan } from './plan.js';
import { mayRepeat } from './repeatable.js';
import { SubscriptionExecution } from './subscription-execution.js';

/**
 * Runs the plans of decorated handlers, turns resilience errors of all handlers into their transport's error, and marks
 * the partial responses that they return. One per application; what to do was worked out at bootstrap.
 */
@Injectable()
export class ResilienceInterceptor implements NestInterceptor {
  private readonly mapErrors: boolean;
  private readonly abortOnDisconnect: AbortOnDisconnect;
  private readonly deadlines: InboundDeadlines;
  private readonly outlet: Outlet;

  constructor(
    private readonly planner: Planner,
    private readonly transports: Transports,
    { events, settings }: PolicyRegistry,
  ) {
    this.mapErrors = settings.mapErrors;
    this.abortOnDisconnect = settings.abortOnDisconnect;
    this.deadlines = new InboundDeadlines(settings);
    this.outlet = {
      fail: this.fail,
      translate: this.translate,
      tell: (event) => events.tell(event),
      answers: planner.answers,
    };
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const plan = this.planner.planFor(context.getClass(), context.getHandler());
    const transport = this.transports.of(context);
    if (plan !== null) return this.run(plan, { context, transport }, next);
    if (!this.mapErrors && transport.mark === undefined && transport.outgoing === undefined) return next.handle();

    transport.follow?.(context);
    return letOut(next.handle(), this.outlet, { context, transport });
  }

  private run(plan: Plan, { context, transport }: OutletCall, next: CallHandler): Observable<unknown> {
    const isSafe = transport.isSafe(context);
    const repeats = plan.withRetry !== plan.withoutRetry && mayRepeat(plan, isSafe);
    const answersAtEnd = transport.answersOnce && !plan.streamsEvents;
    const exchange = transport.exchangeOf(context);
    const endsWithClient = exchange !== undefined && this.endsWithClient(isSafe ?? repeats);
    const { outlet } = this;

    return new Observable((subscriber) => {
      this.start({
        context,
        transport,
        next,
        plan,
        subscriber,
        repeats,
        exchange,
        answersAtEnd,
        endsWithClient,
        outlet,
      });
    });
  }

  private start(call: EntrypointCall): void {
    const { context, transport, plan, repeats, subscriber } = call;
    const { pipeline } = repeats ? plan.withRetry : plan.withoutRetry;
    const patienceMs = this.deadlines.read(transport, context);
    if (patienceMs !== undefined && this.deadlines.isOver(patienceMs)) return refuse(call, patienceMs);

    const bounded = patienceMs === undefined ? pipeline : this.deadlines.bound(pipeline, plan, patienceMs);
    const Kind = transport.opensEvents?.(context) === true ? SubscriptionExecution : EntrypointExecution;
    const execution = new Kind(bounded, call);
    subscriber.add(execution);
    execution.start();
  }

  /** Where calls do not say whether they have side effects, one that may be repeated may be given up as well. */
  private endsWithClient(isSafe: boolean): boolean {
    return this.abortOnDisconnect === 'safe' ? isSafe : this.abortOnDisconnect === 'always';
  }

  /** Applications may have made an error, and it does not let itself be read. What RxJS is thrown ends the process. */
  private readonly translate: Outlet['translate'] = (error, call) => {
    try {
      if (!(error instanceof ResilienceError) || !this.maps(error, call)) return error;

      return call.transport.translate(error, call.context);
    } catch {
      return error;
    }
  };

  private readonly fail: Outlet['fail'] = (error, call, { subscriber, hasBegun }) => {
    const { context, transport } = call;
    const answer = this.translate(error, call);
    let values: readonly unknown[] | undefined;
    try {
      if (answer !== error) values = transport.answerFailure?.(answer, context, hasBegun);
    } catch {
      // As above.
    }
    if (values === undefined) return subscriber.error(answer);

    for (const value of values) subscriber.next(value);
    subscriber.complete();
  };

  /** A client that has left is none of the errors that somebody else would answer with. */
  private maps(error: ResilienceError, { context, transport }: OutletCall): boolean {
    return this.mapErrors || error instanceof ClientDisconnectedError || transport.answersAlone?.(context) === true;
  }
}

/** Answers a caller who has no time left for an answer, before anything is started. */
function refuse(call: EntrypointCall, budgetMs: number): void {
  const { outlet, plan, subscriber } = call;
  outlet.fail(deadlineMet(plan, budgetMs), call, { subscriber, hasBegun: false });
}

/** Without a plan: the values as they come, and what becomes of them and of errors on the way out. */
function letOut(source: Observable<unknown>, outlet: Outlet, call: OutletCall): Observable<unknown> {
  return new Observable((subscriber) => source.subscribe(new OutletSubscriber(subscriber, outlet, call)));
}

class OutletSubscriber extends Subscriber<unknown> {
  /** Of several values the last one is the answer. */
  private last: unknown = undefined;
  private hasBegun = false;

  constructor(
    private readonly target: Subscriber<unknown>,
    private readonly outlet: Outlet,
    private readonly call: OutletCall,
  ) {
    super(target);
  }

  protected override _next(value: unknown): void {
    let sent: unknown;
    try {
      sent = this.opensEvents(value) ? this.outgoing(value) : sentFor(value, this.call);
    } catch (error) {
      return this._error(error);
    }
    this.last = value;
    this.hasBegun = true;
    this.target.next(sent);
  }

  private opensEvents(value: unknown): value is AsyncIterable<unknown> {
    const { context, transport } = this.call;

    return transport.opensEvents?.(context) === true && isAsyncIterable(value);
  }

  private outgoing(events: AsyncIterable<unknown>): OutgoingEvents {
    return new OutgoingEvents(new OpenedEvents(events), this.call, this.outlet.translate);
  }

  protected override _error(error: unknown): void {
    this.outlet.fail(error, this.call, { subscriber: this.target, hasBegun: this.hasBegun });
    this.unsubscribe();
  }

  protected override _complete(): void {
    try {
      this.call.transport.mark?.(this.last, this.call.context);
    } catch (error) {
      return this._error(error);
    }
    this.target.complete();
    this.unsubscribe();
  }
}

import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ClientDisconnectedError, DeadlineExceededError } from 'holdfast';
import { Observable, Subscriber } from 'rxjs';
import { AnswerMarks } from '../degradation/answer-marks.js';
import { partialIn } from '../degradation/partial-answer.js';
import { PolicyRegistry } from '../registry.js';
import type { AbortOnDisconnect } from '../resilience.options.js';
import { ResponseState } from '../transports/http-response.js';
import { mapError } from '../transports/map-error.js';
import { EntrypointExecution, type EntrypointCall, type Outlet } from './entrypoint-execution.js';
import { InboundDeadlines } from './inbound-deadline.js';
import { Planner, type Plan } from './plan.js';
import { isSafe, mayRepeat } from './repeatable.js';

/**
 * Runs the plans of decorated handlers, turns resilience errors of all handlers into their transport's error, and marks
 * the partial responses that they return. One per application; what to do was worked out at bootstrap.
 */
@Injectable()
export class ResilienceInterceptor implements NestInterceptor {
  private readonly mapErrors: boolean;
  private readonly abortOnDisconnect: AbortOnDisconnect;
  private readonly deadlines: InboundDeadlines;
  private readonly marks: AnswerMarks;
  private readonly outlet: Outlet;

  constructor(
    private readonly planner: Planner,
    private readonly adapterHost: HttpAdapterHost,
    { events, settings }: PolicyRegistry,
  ) {
    this.mapErrors = settings.mapErrors;
    this.abortOnDisconnect = settings.abortOnDisconnect;
    this.deadlines = new InboundDeadlines(settings);
    this.marks = new AnswerMarks(settings.degraded);
    this.outlet = {
      translate: this.translate,
      mark: this.mark,
      tell: (event) => events.tell(event),
      answers: planner.answers,
    };
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const plan = this.planner.planFor(context.getClass(), context.getHandler());
    if (plan !== null) return this.run(plan, context, next);
    if (!this.mapErrors && context.getType() !== 'http') return next.handle();

    return letOut(next.handle(), this.outlet, context);
  }

  private run(plan: Plan, context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const kind = context.getType<string>();
    const answersAtEnd = kind === 'graphql' || (kind === 'http' && !plan.streamsEvents);
    const response = kind === 'http' ? new ResponseState(context, this.adapterHost.httpAdapter) : undefined;
    const repeats = plan.withRetry !== plan.withoutRetry && mayRepeat(plan, context);
    const endsWithClient = response !== undefined && this.endsWithClient(context);
    const { outlet } = this;

    return new Observable((subscriber) => {
      this.start({ context, next, plan, subscriber, repeats, response, answersAtEnd, endsWithClient, outlet });
    });
  }

  private start(call: EntrypointCall): void {
    const { context, plan, repeats, subscriber } = call;
    const { pipeline } = repeats ? plan.withRetry : plan.withoutRetry;
    const patienceMs = this.deadlines.read(context);
    if (patienceMs !== undefined && this.deadlines.isOver(patienceMs)) return refuse(call, patienceMs);

    const bounded = patienceMs === undefined ? pipeline : this.deadlines.bound(pipeline, plan, patienceMs);
    const execution = new EntrypointExecution(bounded, call);
    subscriber.add(execution);
    execution.start();
  }

  private endsWithClient(context: ExecutionContext): boolean {
    return this.abortOnDisconnect === 'safe' ? isSafe(context) === true : this.abortOnDisconnect === 'always';
  }

  /** A client that has left is none of the errors that somebody else would answer with. */
  private readonly translate: Outlet['translate'] = (error, context) => {
    const maps = this.mapErrors || error instanceof ClientDisconnectedError;

    return maps ? mapError(error, context, this.adapterHost.httpAdapter) : error;
  };

  private readonly mark: Outlet['mark'] = (answer, context) => {
    const page = context.getType() === 'http' ? partialIn(answer) : undefined;
    if (page !== undefined) this.marks.mark(page, new ResponseState(context, this.adapterHost.httpAdapter));
  };
}

/** Answers a caller who has no time left for an answer, before anything is started. */
function refuse({ context, outlet, plan, subscriber }: EntrypointCall, budgetMs: number): void {
  const { source, events } = plan;
  if (events.isObserved('deadline')) events.emit({ type: 'deadline', policy: source, source, budgetMs });
  subscriber.error(outlet.translate(new DeadlineExceededError(budgetMs, source), context));
}

/** Without a plan: the values as they come, and what becomes of them and of errors on the way out. */
function letOut(source: Observable<unknown>, outlet: Outlet, context: ExecutionContext): Observable<unknown> {
  return new Observable((subscriber) => source.subscribe(new OutletSubscriber(subscriber, outlet, context)));
}

class OutletSubscriber extends Subscriber<unknown> {
  /** Of several values the last one is the answer. */
  private last: unknown = undefined;

  constructor(
    private readonly target: Subscriber<unknown>,
    private readonly outlet: Outlet,
    private readonly context: ExecutionContext,
  ) {
    super(target);
  }

  protected override _next(value: unknown): void {
    this.last = value;
    this.target.next(value);
  }

  protected override _error(error: unknown): void {
    this.target.error(this.outlet.translate(error, this.context));
    this.unsubscribe();
  }

  protected override _complete(): void {
    this.outlet.mark(this.last, this.context);
    this.target.complete();
    this.unsubscribe();
  }
}

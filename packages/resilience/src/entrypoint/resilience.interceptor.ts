import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ClientDisconnectedError, DeadlineExceededError } from 'holdfast';
import { Observable, Subscriber } from 'rxjs';
import { PolicyRegistry } from '../registry.js';
import type { AbortOnDisconnect } from '../resilience.options.js';
import { ResponseState } from '../transports/http-response.js';
import { mapError } from '../transports/map-error.js';
import { EntrypointExecution, type EntrypointCall } from './entrypoint-execution.js';
import { InboundDeadlines } from './inbound-deadline.js';
import { Planner, type Plan } from './plan.js';
import { isSafe, mayRepeat } from './repeatable.js';

/** The error that leaves in place of this one. */
type Translate = (error: unknown, context: ExecutionContext) => unknown;

/**
 * Runs the plans of decorated handlers, and turns resilience errors of all handlers into their transport's error. One
 * per application; what to do was worked out at bootstrap.
 */
@Injectable()
export class ResilienceInterceptor implements NestInterceptor {
  private readonly mapErrors: boolean;
  private readonly abortOnDisconnect: AbortOnDisconnect;
  private readonly deadlines: InboundDeadlines;

  constructor(
    private readonly planner: Planner,
    private readonly adapterHost: HttpAdapterHost,
    { settings }: PolicyRegistry,
  ) {
    this.mapErrors = settings.mapErrors;
    this.abortOnDisconnect = settings.abortOnDisconnect;
    this.deadlines = new InboundDeadlines(settings);
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const plan = this.planner.planFor(context.getClass(), context.getHandler());
    if (plan !== null) return this.run(plan, context, next);
    if (!this.mapErrors) return next.handle();

    return translated(next.handle(), this.translate, context);
  }

  private run(plan: Plan, context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const kind = context.getType<string>();
    const answersAtEnd = kind === 'graphql' || (kind === 'http' && !plan.streamsEvents);
    const response = kind === 'http' ? new ResponseState(context, this.adapterHost.httpAdapter) : undefined;
    const repeats = plan.withRetry !== plan.withoutRetry && mayRepeat(plan, context);
    const endsWithClient = response !== undefined && this.endsWithClient(context);
    const { translate } = this;

    return new Observable((subscriber) => {
      this.start({ context, next, plan, subscriber, repeats, response, answersAtEnd, endsWithClient, translate });
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
  private readonly translate: Translate = (error, context) => {
    const maps = this.mapErrors || error instanceof ClientDisconnectedError;

    return maps ? mapError(error, context, this.adapterHost.httpAdapter) : error;
  };
}

/** Answers a caller who has no time left for an answer, before anything is started. */
function refuse({ context, plan, subscriber, translate }: EntrypointCall, budgetMs: number): void {
  const { source, events } = plan;
  if (events.isObserved('deadline')) events.emit({ type: 'deadline', policy: source, source, budgetMs });
  subscriber.error(translate(new DeadlineExceededError(budgetMs, source), context));
}

function translated(source: Observable<unknown>, translate: Translate, context: ExecutionContext): Observable<unknown> {
  return new Observable((subscriber) => source.subscribe(new TranslatingSubscriber(subscriber, translate, context)));
}

/** Passes everything on, errors translated. */
class TranslatingSubscriber extends Subscriber<unknown> {
  constructor(
    private readonly target: Subscriber<unknown>,
    private readonly translate: Translate,
    private readonly context: ExecutionContext,
  ) {
    super(target);
  }

  protected override _error(error: unknown): void {
    this.target.error(this.translate(error, this.context));
    this.unsubscribe();
  }
}

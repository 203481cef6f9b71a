import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Observable, Subscriber } from 'rxjs';
import { RESILIENCE_MODULE_OPTIONS, type ResilienceModuleOptions } from '../resilience.options.js';
import { ResponseState } from '../transports/http-response.js';
import { mapError } from '../transports/map-error.js';
import { EntrypointExecution } from './entrypoint-execution.js';
import { Planner, type Plan } from './plan.js';
import { mayRepeat } from './repeatable.js';

/** The error that leaves in place of this one. */
type Translate = (error: unknown, context: ExecutionContext) => unknown;

/**
 * Runs the plans of decorated handlers, and turns resilience errors of all handlers into their transport's error. One
 * per application; what to do was worked out at bootstrap.
 */
@Injectable()
export class ResilienceInterceptor implements NestInterceptor {
  private readonly translate: Translate | undefined;

  constructor(
    private readonly planner: Planner,
    private readonly adapterHost: HttpAdapterHost,
    @Inject(RESILIENCE_MODULE_OPTIONS) options: ResilienceModuleOptions,
  ) {
    this.translate =
      options.mapErrors === false
        ? undefined
        : (error, context) => mapError(error, context, this.adapterHost.httpAdapter);
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const plan = this.planner.planFor(context.getClass(), context.getHandler());
    if (plan !== null) return this.run(plan, context, next);
    if (this.translate === undefined) return next.handle();

    return translated(next.handle(), this.translate, context);
  }

  private run(plan: Plan, context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const repeats = plan.withRetry !== plan.withoutRetry && mayRepeat(plan, context);
    const { pipeline } = repeats ? plan.withRetry : plan.withoutRetry;
    const kind = context.getType<string>();
    const answersOnce = kind === 'http' && !plan.streamsEvents;
    const answersAtEnd = answersOnce || kind === 'graphql';
    const response = answersOnce ? new ResponseState(context, this.adapterHost.httpAdapter) : undefined;
    const { translate } = this;

    return new Observable((subscriber) => {
      const call = { context, next, plan, subscriber, repeats, response, answersAtEnd, translate };
      const execution = new EntrypointExecution(pipeline, call);
      subscriber.add(execution);
      execution.start();
    });
  }
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

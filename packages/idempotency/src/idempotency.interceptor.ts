import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { HandlerPlans, type HandlerPlan } from './entrypoint/handler-plans.js';
import { ProtectedCall } from './entrypoint/protected-call.js';
import { IdempotencyRuntime } from './idempotency.runtime.js';
import { Transports } from './transports/transports.js';
import type { Transport } from './transports/transport.js';

const SERVER_SENT_EVENTS = '__sse__';

/** Stands around every handler of the application, and in front of those that are decorated. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private readonly plans: HandlerPlans;

  constructor(
    private readonly runtime: IdempotencyRuntime,
    private readonly transports: Transports,
  ) {
    this.plans = new HandlerPlans(runtime.settings.handlers);
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const plan = this.plans.of(context);
    const transport = plan === undefined ? undefined : this.transportFor(plan, context);
    if (plan === undefined || transport === undefined) return next.handle();

    const { calls, events, warnings } = this.runtime;
    return new Observable((subscriber) => {
      const call = new ProtectedCall({ plan, transport, calls, events, warnings, context, next }, subscriber);
      void call.answer();

      return () => call.leave();
    });
  }

  private transportFor(plan: HandlerPlan, context: ExecutionContext): Transport | undefined {
    const { warnings } = this.runtime;
    const type = context.getType<string>();
    const transport = this.transports.of(type);
    if (transport === undefined) {
      warnings.warn('unsupported', plan, `is @Idempotent() without effect: keys do not exist for calls over ${type}.`);
      return undefined;
    }
    if (plan.byClassOnly && !transport.isCoveredByClass(context)) return undefined;
    const why = whyUnprotected(plan, transport, context);
    if (why === undefined) return transport;

    warnings.warn('pass-through', plan, `is @Idempotent() without effect: ${why}.`);
    return undefined;
  }
}

function whyUnprotected(plan: HandlerPlan, transport: Transport, context: ExecutionContext): string | undefined {
  if (Reflect.getMetadata(SERVER_SENT_EVENTS, plan.method) === true) return 'a stream of events cannot be replayed';

  return transport.whyUnprotected?.(context);
}

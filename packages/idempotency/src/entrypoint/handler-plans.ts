import type { ExecutionContext } from '@nestjs/common';
import { methodNameOf } from 'holdfast/nest';
import { IDEMPOTENT, type IdempotentMetadata } from '../idempotency.decorator.js';
import { mergeOptions, type HandlerOptions, type HandlerSettings } from '../settings.js';

/** What the decorators say of one handler. */
export interface HandlerPlan {
  readonly method: Function;
  /** As messages and events call it, such as `PaymentsController.create`. */
  readonly source: string;
  readonly settings: HandlerSettings;
  /** Only its class has the decorator. */
  readonly byClassOnly: boolean;
}

/** Looked up once for each handler. */
export class HandlerPlans {
  private readonly plans = new WeakMap<Function, Map<Function, HandlerPlan | undefined>>();

  constructor(private readonly defaults: HandlerOptions) {}

  /** `undefined` for a handler that nobody has decorated, or that was left alone on purpose. */
  of(context: ExecutionContext): HandlerPlan | undefined {
    return this.ofMethod(context.getClass(), context.getHandler());
  }

  /** Of a class that inherits the method, or that declares it. */
  ofMethod(cls: Function, method: Function): HandlerPlan | undefined {
    let ofClass = this.plans.get(cls);
    if (ofClass === undefined) this.plans.set(cls, (ofClass = new Map<Function, HandlerPlan | undefined>()));
    if (!ofClass.has(method)) ofClass.set(method, this.read(cls, method));

    return ofClass.get(method);
  }

  private read(cls: Function, method: Function): HandlerPlan | undefined {
    const onMethod = Reflect.getMetadata(IDEMPOTENT, method) as IdempotentMetadata | undefined;
    const onClass = Reflect.getMetadata(IDEMPOTENT, cls) as IdempotentMetadata | undefined;
    if (onMethod === false || !(onMethod ?? onClass)) return undefined;

    return {
      method,
      source: `${cls.name}.${methodNameOf(cls, method) ?? method.name}`,
      settings: mergeOptions(this.defaults, onClass === false ? undefined : onClass, onMethod),
      byClassOnly: onMethod === undefined,
    };
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import {
  classesIn,
  ConnectedMicroservices,
  GraphqlServers,
  handlersOf,
  isEntryClass,
  isHandler,
  type FoundClass,
  type Handler,
} from 'holdfast/nest';
import { logger } from '../log.js';
import { IDEMPOTENT } from '../idempotency.decorator.js';
import { IdempotencyRuntime } from '../idempotency.runtime.js';
import { Transports } from '../transports/transports.js';
import { checkKeySource, coveredContexts, warningsOf } from './handler-checks.js';
import { HandlerPlans, type HandlerPlan } from './handler-plans.js';

const CLASS_RULE =
  'On a class it covers HTTP methods other than GET, HEAD and OPTIONS, mutations of GraphQL, and message handlers.';

interface PlannedHandler {
  readonly handler: Handler;
  readonly plan: HandlerPlan | undefined;
  readonly found: FoundClass;
}

/** Looks at all handlers of an application: what is decorated in vain is warned of, and what could only fail is refused. */
@Injectable()
export class HandlerExplorer {
  @Inject(ConnectedMicroservices)
  private readonly microservices!: ConnectedMicroservices;

  constructor(
    private readonly modules: ModulesContainer,
    private readonly runtime: IdempotencyRuntime,
    private readonly transports: Transports,
  ) {}

  /**
   * @throws TypeError naming handler and option.
   * @throws Error naming message handlers that cannot be told apart.
   */
  async explore(): Promise<void> {
    const classes = classesIn(this.modules);
    for (const { cls } of classes) warnOfStrays(cls);

    const handlers = classes.filter(({ cls }) => isEntryClass(cls)).flatMap((found) => this.planned(found));
    this.checkHandlers(handlers);
    refuseNamesakes(handlers);
    warnOfEmptyClasses(handlers);
    this.microservices.report(messagesOf(handlers));
    await this.transports.prepare(handlers.map(({ handler }) => handler.kinds));
  }

  private planned(found: FoundClass): PlannedHandler[] {
    const plans = new HandlerPlans(this.runtime.settings.handlers);

    return handlersOf(found.cls)
      .filter(isHandler)
      .map((handler) => ({ found, handler, plan: plans.ofMethod(found.cls, handler.method) }));
  }

  private checkHandlers(handlers: readonly PlannedHandler[]): void {
    const servers = new GraphqlServers(this.modules);
    for (const { handler, plan } of handlers) {
      if (plan === undefined) continue;

      checkKeySource(handler, plan);
      for (const { topic, message } of warningsOf(handler, plan, servers)) {
        this.runtime.warnings.warn(topic, plan, message);
      }
    }
  }
}

/** Each handler of an event keeps records of its own, by its name: with that of another it would be answered as that one was. */
function refuseNamesakes(handlers: readonly PlannedHandler[]): void {
  const classes = new Map<string, Function>();
  for (const { handler, plan, found } of handlers) {
    if (plan === undefined || !coveredContexts(handler, plan).includes('rpc')) continue;
    const namesake = classes.get(plan.source) ?? found.cls;
    classes.set(plan.source, namesake);
    if (namesake === found.cls) continue;

    throw new Error(
      `${plan.source}() is a message handler of two classes that have the same name. Of an event for both, one would be ` +
        'taken for a repetition of the other, and would not run. Rename one of them.',
    );
  }
}

/** Methods that Nest calls for other reasons, such as a schedule, and providers that are no entrypoints. */
function warnOfStrays(cls: Function): void {
  for (const handler of handlersOf(cls)) {
    if (!Reflect.getMetadata(IDEMPOTENT, handler.method) || (isEntryClass(cls) && isHandler(handler))) continue;

    logger.warn(
      `${handler.source}() is @Idempotent() without effect: it is no handler of requests, queries or messages. ` +
        'Use IdempotencyService.run().',
    );
  }
  if (!isEntryClass(cls) && Reflect.getMetadata(IDEMPOTENT, cls)) {
    logger.warn(`@Idempotent() on ${cls.name} is without effect: it has no handlers. Use IdempotencyService.run().`);
  }
}

/** Of their own decorators there is nothing to see. */
function warnOfEmptyClasses(handlers: readonly PlannedHandler[]): void {
  for (const cls of new Set(handlers.map(({ found }) => found.cls))) {
    if (!Reflect.getMetadata(IDEMPOTENT, cls)) continue;
    const own = handlers.filter(({ found }) => found.cls === cls);
    if (own.some(({ handler, plan }) => plan !== undefined && isOfUse(handler, plan))) continue;

    logger.warn(`@Idempotent() on ${cls.name} covers none of its handlers. ${CLASS_RULE}`);
  }
}

function isOfUse(handler: Handler, plan: HandlerPlan): boolean {
  return !plan.byClassOnly || coveredContexts(handler, plan).length > 0;
}

function messagesOf(handlers: readonly PlannedHandler[]): Parameters<ConnectedMicroservices['report']>[0] {
  const messages = handlers.filter(({ handler }) => handler.kinds.rpc);

  return {
    decorated: messages.flatMap(({ plan, handler }) => (plan === undefined ? [] : [handler.source])),
    builtAtOnce: messages.some(({ found: { wrapper } }) => wrapper.isDependencyTreeStatic()),
  };
}

import { Injectable, Logger } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { guardCaches } from '../degradation/cache-guard.js';
import { letSerializersKeepMarks } from '../degradation/serializers.js';
import { PolicyRegistry } from '../registry.js';
import { ApolloPlugin } from '../transports/apollo-plugin.js';
import {
  classesIn,
  type FoundClass,
  GraphqlServers,
  type Handler,
  type HandlerKinds,
  handlersOf,
  isEntryClass,
  isHandler,
  type MessageHandlers,
  type Wrapper,
} from 'holdfast/nest';
import { readDeclarations } from './metadata.js';
import { Planner, type Draft } from './plan.js';
import { ResilienceInterceptor } from './resilience.interceptor.js';
import {
  boundlessBreaker,
  closedCache,
  hiddenPlugin,
  skippedField,
  strayIdempotent,
  unsetLimit,
  warnOfBudget,
  warnOfHandler,
  warnOfMethod,
  warnOfProvider,
} from './warnings.js';
import { watchMethods } from './watched-method.js';

interface Entrypoint extends FoundClass {
  readonly handler: Handler;
  readonly draft: Draft | null;
}

export interface ExploredHandlers {
  readonly kinds: readonly HandlerKinds[];
  readonly messages: MessageHandlers;
}

/**
 * Looks at the whole application once, at bootstrap: makes the plans of its handlers, fails the boot where settings
 * are wrong, and warns where they do nothing.
 */
@Injectable()
export class Explorer {
  private readonly logger = new Logger('ResilienceModule');

  constructor(
    private readonly modules: ModulesContainer,
    private readonly registry: PolicyRegistry,
    private readonly planner: Planner,
  ) {
    this.watchSubclasses();
  }

  /** Returns what handlers there are. */
  explore(): ExploredHandlers {
    this.refuseSecondRegistration();
    this.checkGlobal();
    const classes = classesIn(this.modules);
    const { settings } = this.registry;
    const warnings = [...settings.strayIdempotent.map(strayIdempotent), ...settings.unsetLimits.map(unsetLimit)];
    // First every name and how it is configured, then the policies: no order of classes matters.
    const entrypoints = classes.flatMap((found) => (isEntryClass(found.cls) ? this.draftClass(found) : []));
    warnings.push(...this.checkNames());
    for (const { handler, draft } of entrypoints) this.planner.complete(handler, draft);

    warnings.push(...classes.flatMap(({ cls }) => warnOfClass(cls)));
    warnings.push(...entrypoints.flatMap(({ handler, draft }) => warnOfHandler(handler, draft)));
    warnings.push(...this.warnOfServers(entrypoints));
    warnings.push(...this.registry.takeBoundless().map(boundlessBreaker));
    warnings.push(...this.warnOfBudgets());
    letSerializersKeepMarks();
    if (!guardCaches(this.modules.values())) warnings.push(closedCache());
    for (const warning of warnings) this.logger.warn(warning);

    return exploredOf(entrypoints);
  }

  /**
   * A decorator on a base class cannot see the handlers of its subclasses. All are known when this is made, and Nest
   * takes the methods that it routes to from the prototypes later, when all instances are there.
   */
  private watchSubclasses(): void {
    for (const { cls } of classesIn(this.modules)) {
      if (isEntryClass(cls) && readDeclarations(cls) !== undefined) watchMethods(cls);
    }
  }

  private refuseSecondRegistration(): void {
    const hosts = [...this.modules.values()].filter(({ providers }) => providers.has(ResilienceInterceptor));
    if (hosts.length <= 1) return;

    throw new Error(
      `ResilienceModule is registered ${hosts.length} times, and every request would run through each of them. ` +
        'Call forRoot() or forRootAsync() once, in the root module; it is global.',
    );
  }

  /** What a factory returns comes too late to decide this. */
  private checkGlobal(): void {
    const { isGlobal } = this.registry.settings;
    const host = [...this.modules.values()].find(({ providers }) => providers.has(ResilienceInterceptor));
    if (isGlobal === undefined || host === undefined || host.isGlobal === isGlobal) return;

    throw new Error(
      `isGlobal: ${isGlobal} has no effect in what a factory returns. Put it beside the factory: ` +
        `ResilienceModule.forRootAsync({ isGlobal: ${isGlobal}, useFactory: … }).`,
    );
  }

  private draftClass(found: FoundClass): Entrypoint[] {
    const { cls, wrapper } = found;
    // A class provided under another token cannot be looked up by itself.
    if (wrapper.token !== cls) this.planner.knowInstance(cls, () => wrapper.instance as unknown);

    return handlersOf(cls)
      .filter(isHandler)
      .map((handler) => {
        const draft = this.planner.draft(handler);
        if (draft !== null) refuseMethodOfScoped(draft, wrapper);
        return { ...found, handler, draft };
      });
  }

  private checkNames(): string[] {
    const { circuitBreakers, bulkheads, outboundRateLimits, settings } = this.registry;

    return [
      ...circuitBreakers.checkNames(settings.strictNames),
      ...bulkheads.checkNames(settings.strictNames),
      ...outboundRateLimits.checkNames(settings.strictNames),
    ];
  }

  private warnOfServers(entrypoints: readonly Entrypoint[]): string[] {
    const servers = new GraphqlServers(this.modules);
    const skipped = entrypoints.filter(({ draft, handler }) => draft !== null && servers.skipInterceptors(handler));

    return [
      ...skipped.map(({ handler }) => skippedField(handler)),
      ...servers.blindFor(ApolloPlugin).map(hiddenPlugin),
    ];
  }

  private warnOfBudgets(): string[] {
    const { clientTimeoutMs } = this.registry.settings;
    if (clientTimeoutMs === undefined) return [];

    return this.planner.budgets().flatMap((budget) => warnOfBudget(budget, clientTimeoutMs));
  }
}

function exploredOf(entrypoints: readonly Entrypoint[]): ExploredHandlers {
  const messages = entrypoints.filter(({ handler }) => handler.kinds.rpc);
  const decorated = messages.flatMap(({ draft, handler }) => (draft === null ? [] : [handler.source]));
  const builtAtOnce = messages.some(({ wrapper }) => wrapper.isDependencyTreeStatic());

  return { kinds: entrypoints.map(({ handler }) => handler.kinds), messages: { decorated, builtAtOnce } };
}

function warnOfClass(cls: Function): string[] {
  return isEntryClass(cls) ? handlersOf(cls).flatMap(warnOfMethod) : warnOfProvider(cls);
}

/** A method needs an instance, and such a class has one for each request. */
function refuseMethodOfScoped({ handler, stages }: Draft, wrapper: Wrapper): void {
  const method = stages.fallback?.handler;
  if (typeof method !== 'string' || (!wrapper.isTransient && wrapper.isDependencyTreeStatic())) return;

  throw new Error(
    `Resilience decorators on ${handler.source}: fallback: "${method}" is a method of ${handler.cls.name}, of which ` +
      'there is an instance per request (it is request-scoped or transient, or depends on something request-scoped). ' +
      'Use a function, which gets the error and the ExecutionContext.',
  );
}

import { Injectable } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { AttemptContext, ResiliencePolicy } from 'holdfast';
import {
  composeStages,
  parseDuration,
  resolveOutboundRateLimitOptions,
  resolveRetryOptions,
  resolveTimeout,
  type EventSource,
} from 'holdfast/binding';
import { PolicyRegistry } from '../registry.js';
import { checkDecorated } from '../stage-options.js';
import { AnswerBudgets } from './answer-budgets.js';
import {
  describeHandler,
  methodNameOf,
  methodsOf,
  signalParameters,
  writesResponse,
  type Handler,
} from 'holdfast/nest';
import { mergeStages, type Level, type MergedFallback, type MergedStages } from './merge-stages.js';
import { readDeclarations, type Declarations, type EntrypointFallback } from './metadata.js';
import { mayEverRepeat, type RetryRule } from './repeatable.js';
import { timeBudget, type TimeBudget } from './time-budget.js';

export { mayRepeat } from './repeatable.js';

/** What runs around one handler. */
export interface Plan {
  /** Labels its events, such as `ShippingController.getQuotes`. */
  readonly source: string;
  /** Both pipelines share their stages; which one applies is decided for each call. */
  readonly withRetry: ResiliencePolicy;
  /** The same object when there is no retry. */
  readonly withoutRetry: ResiliencePolicy;
  /** Which calls may be repeated. */
  readonly retry: RetryRule;
  /** In milliseconds; `undefined` without a budget. */
  readonly budgetMs: number | undefined;
  /** For what the entrypoint itself tells of. */
  readonly events: EventSource;
  /** Whether it sends server-sent events, so that each value leaves as it comes. */
  readonly streamsEvents: boolean;
  /** Which of the handler's parameters are a `@Signal()`. */
  readonly signalsAt: readonly number[];
}

/** The settings of one handler, put together and declared; its policies are made once all handlers have got so far. */
export interface Draft {
  readonly handler: Handler;
  /** As they apply. */
  readonly stages: MergedStages;
  readonly rule: RetryRule;
  /** Whether a fallback was left out because the handler writes the response itself. */
  readonly lostFallback: boolean;
}

/** Turns the settings of handlers into plans. At bootstrap for all that there are, and later for those loaded lazily. */
@Injectable()
export class Planner {
  /** Of the fan-outs that handlers have begun. */
  readonly answers = new AnswerBudgets();
  // Weak, since frameworks may wrap a method anew for each call.
  readonly #plans = new Map<Function, WeakMap<Function, Plan | null>>();
  /** By class and name, so that handlers which are wrapped anew for each call do not add up. */
  readonly #drafts = new Map<Function, Map<string, Draft>>();
  readonly #instances = new Map<Function, () => unknown>();

  constructor(
    private readonly registry: PolicyRegistry,
    private readonly moduleRef: ModuleRef,
  ) {}

  /**
   * The plan of a handler; `null` when nothing was set for it.
   *
   * @throws Error when the settings of a handler that bootstrap has not seen are wrong.
   */
  planFor(cls: Function, method: Function): Plan | null {
    const known = this.#plans.get(cls)?.get(method);
    if (known !== undefined) return known;
    // Contexts made by other packages need not have either.
    if (typeof cls !== 'function' || typeof method !== 'function') return null;

    const handler = describeHandler(cls, methodNameOf(cls, method) ?? method.name, method);
    const draft = this.draft(handler);
    if (draft !== null) this.#checkLateNames(draft);
    return this.complete(handler, draft);
  }

  /**
   * Reads, checks and declares what was set for a handler, and makes nothing yet: every name has to be declared
   * before the first policy is made.
   */
  draft(handler: Handler): Draft | null {
    const levels = this.#levelsOf(handler);
    if (levels.length === 0) return null;

    const { source } = handler;
    const merged = mergeStages({ levels, defaults: this.registry.settings.defaults, source });
    const lostFallback = merged.fallback !== undefined && writesResponse(handler);
    const stages = lostFallback ? { ...merged, fallback: undefined } : merged;
    refuseBare(stages, source);

    this.registry.declare(stages, { place: source, owner: handler.cls });
    return { handler, stages, rule: ruleOf(handler, stages), lostFallback };
  }

  /** Makes the policies, and remembers the plan. */
  complete(handler: Handler, draft: Draft | null): Plan | null {
    const plan = draft && this.#build(draft);
    if (draft !== null) this.#remember(draft);
    const ofClass = this.#plans.get(handler.cls) ?? new WeakMap<Function, Plan | null>();
    this.#plans.set(handler.cls, ofClass.set(handler.method, plan));

    return plan;
  }

  /** Tells where the instance of a class can be found that was provided under another token. */
  knowInstance(cls: Function, instance: () => unknown): void {
    this.#instances.set(cls, instance);
  }

  /** The worst case of every handler that has a plan, and of the fan-outs that have run in it. */
  budgets(): TimeBudget[] {
    const ofHandlers = [...this.#drafts.values()].flatMap((ofClass) =>
      [...ofClass.values()].map((one) => this.#budgetOf(one)),
    );

    return ofHandlers.flatMap((budget) => [budget, ...this.answers.under(budget)]);
  }

  #remember(draft: Draft): void {
    const { cls, name } = draft.handler;
    const ofClass = this.#drafts.get(cls) ?? new Map<string, Draft>();
    this.#drafts.set(cls, ofClass.set(name, draft));
  }

  /** Handler before class, decorators before the preset. Field resolvers and subscriptions have no class. */
  #levelsOf(handler: Handler): Level[] {
    const { graphql, http, rpc, websocket } = handler.kinds;
    const isPart = graphql === 'field' || graphql === 'subscription';
    const standsAlone = isPart && http === undefined && !rpc && !websocket;
    const ofClass = standsAlone ? undefined : readDeclarations(handler.cls);

    return [
      ...this.#levelsFrom(readDeclarations(handler.method), 'handler', handler.source),
      ...this.#levelsFrom(ofClass, 'class', handler.cls.name),
    ];
  }

  #levelsFrom(declarations: Declarations | undefined, on: Level['on'], place: string): Level[] {
    if (declarations === undefined) return [];

    const { stages, preset } = declarations;
    return atDecorators(place, () => {
      checkDecorated(stages);
      const decorators: Level = { on, preset: undefined, stages };
      if (preset === undefined) return [decorators];

      return [decorators, { on, preset: preset.value, stages: this.registry.presetStages(preset.value) }];
    });
  }

  #build({ handler, stages, rule }: Draft): Plan {
    const { source } = handler;

    return atDecorators(source, () => {
      const { retry, fallback, ...others } = stages;
      const built = this.registry.build(
        {
          ...others,
          fallback: fallback && this.#fallbackOf(handler, fallback),
          retry: rule === 'never' || retry === undefined ? undefined : { ...retry, retryOnResult: undefined },
        },
        source,
      );
      const withoutRetry = composeStages({ ...built, retry: undefined }, source);
      const withRetry = built.retry === undefined ? withoutRetry : composeStages(built, source);

      return {
        source,
        withRetry,
        withoutRetry,
        retry: rule,
        budgetMs: built.budget?.budget,
        events: this.registry.createEventSource(),
        streamsEvents: handler.kinds.serverSentEvents,
        signalsAt: signalParameters(handler),
      };
    });
  }

  /** At an entrypoint a decorator's fallback is told the error and the call's context, a preset's the attempt too. */
  #fallbackOf({ cls, source }: Handler, fallback: MergedFallback): MergedFallback {
    const { handler, from } = fallback;
    if (from === 'preset') return fallback;

    if (typeof handler === 'string') {
      if (![...methodsOf(cls)].some(([name]) => name === handler)) throw missingMethod(handler, cls, source);

      const instance = this.#instanceOf(cls);
      const callMethod: EntrypointFallback = (error, context) => instance()[handler]?.(error, context);
      return { ...fallback, handler: forDecorator(callMethod) };
    }

    return { ...fallback, handler: forDecorator(handler as EntrypointFallback) };
  }

  /** Looks the singleton up when it is needed for the first time. */
  #instanceOf(cls: Function): () => Readonly<Record<string, EntrypointFallback | undefined>> {
    let instance: Readonly<Record<string, EntrypointFallback | undefined>> | undefined;

    return () => {
      instance ??= (this.#instances.get(cls)?.() ?? this.moduleRef.get(cls, { strict: false })) as typeof instance &
        object;
      return instance;
    };
  }

  #budgetOf({ handler, stages, rule }: Draft): TimeBudget {
    const { budget, retry, timeout, outboundRateLimit } = stages;
    const limits = outboundRateLimit && this.registry.outboundRateLimits.optionsOf(outboundRateLimit.name);
    const { attempts } = resolveRetryOptions(retry === undefined ? false : { attempts: retry.attempts });

    const limit = timeout && resolveTimeout(timeout.value, '');

    return timeBudget({
      source: handler.source,
      budgetMs: budget && parseDuration(budget.value, ''),
      attempts: mayEverRepeat(rule, handler.kinds) ? attempts : 1,
      // One that learns gives no call more than its ceiling.
      timeout: typeof limit === 'object' ? limit.maxMs : limit,
      maxWaitMs: limits && resolveOutboundRateLimitOptions(limits).maxWait,
      backoff: retry?.backoff,
      retryAfter: retry?.retryAfter ?? true,
    });
  }

  /** Bootstrap looked at the names of what it saw; names that come later are only refused where all must be known. */
  #checkLateNames({ stages }: Draft): void {
    if (!this.registry.settings.strictNames) return;

    const { circuitBreaker, bulkhead } = stages;
    if (circuitBreaker !== undefined) this.registry.circuitBreakers.checkName(circuitBreaker.name, true);
    if (bulkhead !== undefined) this.registry.bulkheads.checkName(bulkhead.name, true);
  }
}

function forDecorator(handler: EntrypointFallback): MergedFallback['handler'] {
  return function answer(error: unknown, _attempt: AttemptContext, context?: unknown) {
    return handler(error, context as ExecutionContext);
  };
}

function ruleOf({ kinds }: Handler, { retry, retryOnHandler }: MergedStages): RetryRule {
  if (retry === undefined || retry.attempts === 1 || kinds.requestStream) return 'never';
  if (retry.idempotent === true) return 'always';

  return retryOnHandler ? 'declared' : 'safe';
}

/** Puts the place of the decorators in front of what is wrong with them. */
function atDecorators<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error)) throw error;

    const message = `Resilience decorators on ${place}: ${error.message}`;
    throw error instanceof TypeError ? new TypeError(message, { cause: error }) : new Error(message, { cause: error });
  }
}

/** A bare decorator whose duration nobody gives. */
function refuseBare(stages: MergedStages, source: string): void {
  for (const [stage, decorator] of [
    ['budget', 'Budget'],
    ['timeout', 'Timeout'],
  ] as const) {
    if (stages[stage] === undefined || stages[stage].value !== undefined) continue;

    throw new Error(
      `Resilience decorators on ${source}: ${stage}: @${decorator}() has no duration, and none comes from a preset, the ` +
        `class or defaults.${stage}. Give it one, such as @${decorator}('2s').`,
    );
  }
}

function missingMethod(name: string, cls: Function, source: string): Error {
  return new Error(
    `fallback: ${cls.name} has no method "${name}". Name a method of the class that ${source} is in, or use a function.`,
  );
}

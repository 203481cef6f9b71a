import type { Engine } from './engine.js';
import type { LayeredPolicy, LayeredStage } from './layers.js';
import { BreakerModel } from './models/breaker.js';
import { BulkheadModel } from './models/bulkhead.js';
import { FallbackModel } from './models/fallback.js';
import { BudgetModel, TimeoutModel } from './models/limits.js';
import { FLAW, says } from './models/predicates.js';
import { RateLimitModel } from './models/rate-limit.js';
import { RetryModel } from './models/retry.js';
import type { StageModel } from './models/stage-model.js';
import type { AttemptContext } from './run.js';
import type { BreakerRecipe, FallbackRecipe, PolicyRecipe, Predicate, RetryRecipe, TimeoutRecipe } from './scenario.js';
import type { Watch } from './watch.js';

/** What fallbacks answer with. */
export type Handler = (model: FallbackModel, recipe: FallbackRecipe, given: HandlerGiven) => unknown;

export interface HandlerGiven {
  readonly error: unknown;
  readonly context: AttemptContext;
}

export type PlainHandler = (recipe: FallbackRecipe, context: AttemptContext) => unknown;
export type Stages = Parameters<Engine['createPolicy']>[0];
export type Breaker = InstanceType<Engine['CircuitBreakerPolicy']>;
export type RateLimit = InstanceType<Engine['OutboundRateLimitPolicy']>;
export type Bulkhead = InstanceType<Engine['BulkheadPolicy']>;

/** What stands in names of policies for their place. */
const PLAIN = ' of plain calls';

/** Makes policies of recipes, each with its model and with callbacks that are watched. */
export class Builder {
  /** Objects that the engine was given, and what stood in them. */
  readonly given: { readonly object: object; readonly before: object }[] = [];
  private readonly windows = new Map<string, BreakerRecipe['window']>();

  constructor(
    private readonly engine: Engine,
    private readonly watch: Watch,
    private readonly handler: Handler,
  ) {}

  build(recipe: PolicyRecipe, at: number | string): LayeredStage & { readonly policy: LayeredPolicy } {
    const name = `p${at}`;
    switch (recipe.kind) {
      case 'retry':
        return this.retry(recipe, new RetryModel({ watch: this.watch, name }, recipe));
      case 'timeout':
        return this.timeout(recipe, name);
      case 'budget':
        return {
          model: new BudgetModel({ watch: this.watch, name }, recipe.ms),
          policy: new this.engine.BudgetPolicy(this.options({ name, budget: recipe.ms })),
        };
      case 'breaker':
        return this.breaker(recipe, name);
      case 'bulkhead': {
        const { slots: maxConcurrent, queue: maxQueue, queueTimeout } = recipe;
        const options = this.options({
          name,
          maxConcurrent,
          maxQueue,
          queueTimeout,
          ...(!recipe.holds && { holdUntilSettled: false }),
        });
        const policy = new this.engine.BulkheadPolicy(options);
        return { model: new BulkheadModel({ watch: this.watch, name }, recipe, policy), policy };
      }
      case 'rate limit': {
        const { limit, perToken, maxWait } = recipe;
        const options = this.options({ name, limit, interval: limit * perToken, maxWait });
        const policy = new this.engine.OutboundRateLimitPolicy(options);
        return { model: new RateLimitModel({ watch: this.watch, name }, recipe, policy), policy };
      }
      case 'fallback':
        return this.fallback(recipe, name);
    }
  }

  /** The same as stages of `createPolicy()`, which no model looks at. */
  stages(recipes: readonly PolicyRecipe[], handler: PlainHandler): Stages {
    const stages = recipes.map((recipe) => {
      const { model, policy } = this.build(recipe, PLAIN);
      switch (recipe.kind) {
        case 'retry':
          return { retry: this.options(this.retryOptions(recipe, model)) };
        case 'timeout':
          return { timeout: recipe.as === 'function' ? () => this.call(model, () => recipe.ms) : recipe.ms };
        case 'budget':
          return { budget: recipe.ms };
        case 'breaker':
          return { circuitBreaker: policy as Breaker };
        case 'bulkhead':
          return { bulkhead: policy as Bulkhead };
        case 'rate limit':
          return { outboundRateLimit: policy as RateLimit };
        case 'fallback':
          return { fallback: { handler: (_error: unknown, context: AttemptContext) => handler(recipe, context) } };
      }
    });

    return this.options(Object.assign({}, ...stages) as Stages);
  }

  private retry(recipe: RetryRecipe, model: RetryModel): LayeredStage & { readonly policy: LayeredPolicy } {
    return {
      model,
      policy: new this.engine.RetryPolicy(this.options({ name: model.name, ...this.retryOptions(recipe, model) })),
    };
  }

  private retryOptions(
    { attempts, delay, factor, asFunction, onResult, retryIf }: RetryRecipe,
    model: StageModel,
  ): object {
    const wait = (failed: number): number => this.call(model, () => delay * factor ** (failed - 1));

    return {
      attempts,
      backoff: asFunction ? wait : this.options({ delay, factor, jitter: 'none' as const }),
      ...(retryIf !== 'default' && { retryIf: this.predicate(model, retryIf) }),
      ...(onResult !== undefined && { retryOnResult: this.predicate(model, onResult) }),
    };
  }

  private timeout({ ms, as }: TimeoutRecipe, name: string): LayeredStage & { readonly policy: LayeredPolicy } {
    const learned = this.engine.adaptive({ initial: ms, min: 1, max: Math.max(200, ms), samples: 2 });
    const model: TimeoutModel = new TimeoutModel({ watch: this.watch, name }, as === 'adaptive' ? learned : ms);
    const timeout = as === 'adaptive' ? learned : as === 'number' ? ms : () => this.call(model, () => ms);

    return { model, policy: new this.engine.TimeoutPolicy(this.options({ name, timeout })) };
  }

  private breaker(recipe: BreakerRecipe, name: string): LayeredStage & { readonly policy: LayeredPolicy } {
    const model: { current: BreakerModel | undefined } = { current: undefined };
    const options = this.options({
      name,
      failureRateThreshold: recipe.threshold,
      minimumCalls: recipe.minimumCalls,
      slidingWindow: this.windowOf(recipe),
      openDuration: recipe.openMs,
      halfOpenMaxCalls: recipe.probes,
      probeLease: recipe.lease,
      consecutiveFailures: recipe.inARow,
      ...(recipe.recordIf !== 'default' && {
        recordIf: (error: unknown) => this.predicate(model.current as BreakerModel, recipe.recordIf)(error),
      }),
    });
    const policy = new this.engine.CircuitBreakerPolicy(options);
    model.current = new BreakerModel({ watch: this.watch, name }, recipe, policy);

    return { model: model.current, policy };
  }

  /** Breakers with equal windows are made of one object, and share no more than that. */
  private windowOf({ window }: BreakerRecipe): BreakerRecipe['window'] {
    const shape = `${window.type} ${window.size}`;
    const made = this.windows.get(shape) ?? this.options({ ...window });
    this.windows.set(shape, made);

    return made;
  }

  private fallback(recipe: FallbackRecipe, name: string): LayeredStage & { readonly policy: LayeredPolicy } {
    const model = new FallbackModel({ watch: this.watch, name }, recipe);
    const handler = (error: unknown, context: HandlerGiven['context']): unknown =>
      this.handler(model, recipe, { error, context });
    const options = this.options({
      name,
      ...(recipe.handleIf !== 'default' && { handleIf: this.predicate(model, recipe.handleIf) }),
    });

    return { model, policy: new this.engine.FallbackPolicy(handler, options) };
  }

  private predicate(model: StageModel, kind: Predicate): (value: unknown) => boolean {
    return (value) =>
      this.call(model, () => {
        if (kind === 'throws') throw new Error(FLAW);
        return says(kind, value);
      });
  }

  /** Somebody may leave inside of any callback, and make the policy deal with other calls. */
  private call<T>(model: StageModel, answer: () => T): T {
    const { current } = model;
    this.watch.inCallback();
    model.current = current;

    return answer();
  }

  /** Remembers what stands in an object that the engine is given. */
  options<T extends object>(object: T): T {
    this.given.push({ object, before: { ...object } });

    return object;
  }
}

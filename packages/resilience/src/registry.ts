import { Inject, Injectable } from '@nestjs/common';
import {
  BudgetPolicy,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  RetryPolicy,
  TimeoutPolicy,
  type BulkheadOptions,
  type CircuitBreakerOptions,
  type FallbackHandler,
  type OutboundRateLimitOptions,
  type ResiliencePolicy,
} from 'holdfast';
import { EventSource, nearestName, show, withPath, type Stages } from 'holdfast/binding';
import { hasLimit, mergeStages, type MergedStages, type NamedStage } from './entrypoint/merge-stages.js';
import type { DeclaredStages } from './entrypoint/metadata.js';
import { NamedPolicies, type PolicyKind } from './named-policies.js';
import { ResilienceEvents } from './resilience.events.js';
import { RESILIENCE_MODULE_OPTIONS, type ResilienceModuleOptions } from './resilience.options.js';
import { readSettings, requireRoom, type Settings } from './settings.js';

/** Where stages were written, for messages, and whose they are when nothing else names them. */
export interface StagePlace {
  readonly place: string;
  readonly owner?: Function | undefined;
}

/**
 * The settings and the policies of one application. It makes every policy that the module hands out or applies, so
 * that each reports to this application's events, and shares those that have a name.
 */
@Injectable()
export class PolicyRegistry {
  readonly settings: Settings;
  readonly circuitBreakers: NamedPolicies<CircuitBreakerOptions, CircuitBreakerPolicy>;
  readonly bulkheads: NamedPolicies<BulkheadOptions, BulkheadPolicy>;
  readonly outboundRateLimits: NamedPolicies<OutboundRateLimitOptions, OutboundRateLimitPolicy>;
  readonly #kinds: Kinds;
  readonly events: ResilienceEvents;
  /** `undefined` once bootstrap has checked the application. */
  #boundless: string[] | undefined = [];

  constructor(@Inject(RESILIENCE_MODULE_OPTIONS) options: ResilienceModuleOptions, events: ResilienceEvents) {
    this.settings = readSettings(options);
    this.events = events;
    this.#kinds = kindsOf(this.settings, events);
    this.circuitBreakers = new NamedPolicies(this.#kinds.circuitBreaker);
    this.bulkheads = new NamedPolicies(this.#kinds.bulkhead);
    this.outboundRateLimits = new NamedPolicies(this.#kinds.outboundRateLimit);
    for (const name of this.settings.presets.keys()) this.declare(this.mergePreset(name), { place: `presets.${name}` });
  }

  /** @throws Error naming the presets that there are. */
  presetStages(name: string): DeclaredStages {
    const { presets } = this.settings;
    const stages = presets.get(name);
    if (stages !== undefined) return stages;

    const known = `Known: ${[...presets.keys()].join(', ') || '(none)'}.`;
    throw new Error(`Unknown preset "${String(name)}". ${known}${hintAt(name, presets.keys())}`);
  }

  mergePreset(name: string): MergedStages {
    return this.mergeAlone(name, this.presetStages(name));
  }

  /** Puts the defaults under stages that stand by themselves, those of a preset or of `create()`. */
  mergeAlone(name: string, stages: DeclaredStages): MergedStages {
    const level = { on: 'handler', preset: name, stages } as const;

    return mergeStages({ levels: [level], defaults: this.settings.defaults, source: name });
  }

  /** Makes the names in these stages known, and how they are configured. */
  declare({ circuitBreaker, bulkhead, outboundRateLimit }: MergedStages, where: StagePlace): void {
    declareIn(this.circuitBreakers, circuitBreaker, where);
    declareIn(this.bulkheads, bulkhead, where);
    declareIn(this.outboundRateLimits, outboundRateLimit, where);
  }

  /**
   * Makes the policies of declared stages. `name` is what budget, retry, timeout and fallback are called in events.
   *
   * @throws TypeError beginning with the stage's name, when the parts do not fit together.
   */
  build(merged: MergedStages, name: string): Stages {
    const { budget, retry, timeout, fallback, circuitBreaker, bulkhead, outboundRateLimit } = merged;

    return {
      budget: this.#make('budget', budget?.value, (given) => {
        const { minRemainingMs: minRemaining } = this.settings;
        return new BudgetPolicy({ name, budget: requireRoom(given, minRemaining), minRemaining });
      }),
      retry: this.#make('retry', retry, ({ idempotent: _said, ...options }) => new RetryPolicy({ ...options, name })),
      timeout: this.#make('timeout', timeout?.value, (limit) => new TimeoutPolicy({ name, timeout: limit })),
      fallback: this.#make('fallback', fallback, ({ handler, handleIf }) => {
        return new FallbackPolicy(handler as FallbackHandler, { name, handleIf });
      }),
      circuitBreaker: named('circuitBreaker', circuitBreaker, (stage) => this.circuitBreakers.get(stage.name)),
      bulkhead: named('bulkhead', bulkhead, (stage) => this.bulkheads.get(stage.name)),
      outboundRateLimit: named('outboundRateLimit', outboundRateLimit, (stage) => {
        return this.outboundRateLimits.get(stage.name);
      }),
    };
  }

  /** As {@link build}; stateful stages that have no name of their own belong to this policy alone, and are not listed. */
  buildPrivate(merged: MergedStages, name: string): Stages {
    const { circuitBreaker, bulkhead, outboundRateLimit, ...others } = merged;
    const shared = {
      circuitBreaker: ifNamed(circuitBreaker),
      bulkhead: ifNamed(bulkhead),
      outboundRateLimit: ifNamed(outboundRateLimit),
    };
    const place = `create(…, "${name}")`;
    if (this.#boundless === undefined) this.#checkLateUses(shared, place);
    this.declare({ ...others, ...shared }, { place });
    this.#checkNames(shared);
    const stages = this.build({ ...others, ...shared }, name);

    return {
      ...stages,
      circuitBreaker:
        stages.circuitBreaker ??
        named('circuitBreaker', circuitBreaker, ({ options }) => this.#kinds.circuitBreaker.create(name, options)),
      bulkhead:
        stages.bulkhead ?? named('bulkhead', bulkhead, ({ options }) => this.#kinds.bulkhead.create(name, options)),
      outboundRateLimit:
        stages.outboundRateLimit ??
        named('outboundRateLimit', outboundRateLimit, ({ options }) => {
          return this.#kinds.outboundRateLimit.create(name, options);
        }),
    };
  }

  /** Where an entrypoint tells of what no policy of its own tells of. */
  createEventSource(): EventSource {
    return this.events.attach(new EventSource());
  }

  /** Remembers, until bootstrap has warned of it, that a policy object has a breaker and no limit in time. */
  noteBoundless(merged: MergedStages, label: string): void {
    if (merged.circuitBreaker !== undefined && !hasLimit(merged)) this.#boundless?.push(label);
  }

  /** What was remembered. Later policies are not. */
  takeBoundless(): string[] {
    const labels = this.#boundless ?? [];
    this.#boundless = undefined;

    return labels;
  }

  #checkLateUses({ circuitBreaker, bulkhead }: Pick<MergedStages, 'circuitBreaker' | 'bulkhead'>, place: string): void {
    if (circuitBreaker !== undefined) this.circuitBreakers.checkLateUse(circuitBreaker, place);
    if (bulkhead !== undefined) this.bulkheads.checkLateUse(bulkhead, place);
  }

  #checkNames({ circuitBreaker, bulkhead }: Pick<MergedStages, 'circuitBreaker' | 'bulkhead'>): void {
    if (!this.settings.strictNames) return;
    if (circuitBreaker !== undefined) this.circuitBreakers.checkName(circuitBreaker.name, true);
    if (bulkhead !== undefined) this.bulkheads.checkName(bulkhead.name, true);
  }

  #make<T, Policy extends ResiliencePolicy>(
    stage: string,
    settings: T | undefined,
    create: (settings: T) => Policy,
  ): Policy | undefined {
    return settings === undefined ? undefined : this.events.attach(withPath(stage, () => create(settings)));
  }
}

function hintAt(name: unknown, known: Iterable<string>): string {
  if (typeof name !== 'string') {
    return (
      ` A name is a string, and this is ${show(name)}: a constant is undefined when it is misspelt, or when its file is ` +
      'part of an import cycle.'
    );
  }
  const nearest = nearestName(name, known);

  return nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
}

interface Kinds {
  readonly circuitBreaker: PolicyKind<CircuitBreakerOptions, CircuitBreakerPolicy>;
  readonly bulkhead: PolicyKind<BulkheadOptions, BulkheadPolicy>;
  readonly outboundRateLimit: PolicyKind<OutboundRateLimitOptions, OutboundRateLimitPolicy>;
}

function kindsOf({ defaults }: Settings, events: ResilienceEvents): Kinds {
  return {
    circuitBreaker: {
      noun: 'circuit breaker',
      create: (name, options) =>
        events.attach(new CircuitBreakerPolicy({ ...defaults.circuitBreaker, ...options, name })),
    },
    bulkhead: {
      noun: 'bulkhead',
      create: (name, options) => events.attach(new BulkheadPolicy({ ...defaults.bulkhead, ...options, name })),
    },
    outboundRateLimit: {
      noun: 'outbound rate limit',
      needsOptions: "{ outboundRateLimit: { limit: 10, interval: '1s' } }",
      create: (name, options) => {
        return events.attach(new OutboundRateLimitPolicy({ ...(options as OutboundRateLimitOptions), name }));
      },
    },
  };
}

function named<Options, Policy>(
  stage: string,
  merged: NamedStage<Options> | undefined,
  get: (stage: NamedStage<Options>) => Policy,
): Policy | undefined {
  return merged === undefined ? undefined : withPath(stage, () => get(merged));
}

function ifNamed<Options>(stage: NamedStage<Options> | undefined): NamedStage<Options> | undefined {
  return stage?.namedBy === 'name' ? stage : undefined;
}

function declareIn<Options, Policy extends ResiliencePolicy>(
  policies: NamedPolicies<Options, Policy>,
  stage: NamedStage<Options> | undefined,
  { place, owner }: StagePlace,
): void {
  if (stage === undefined) return;

  policies.declare({ ...stage, place, owner: stage.namedBy === 'handler' ? owner : undefined });
}

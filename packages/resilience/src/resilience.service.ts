import { Injectable } from '@nestjs/common';
import type { BulkheadPolicy, CircuitBreakerPolicy, OutboundRateLimitPolicy, ResiliencePolicy } from 'holdfast';
import { composeStages } from 'holdfast/binding';
import { Planner } from './entrypoint/plan.js';
import type { TimeBudget } from './entrypoint/time-budget.js';
import { PolicyRegistry } from './registry.js';
import type { ResiliencePreset } from './resilience.options.js';
import { checkOverDefaults } from './settings.js';
import { readStages } from './stage-options.js';

/** Policy objects for code inside services, and a look at the breakers, bulkheads and rate limits of the application. */
@Injectable()
export class ResilienceService {
  readonly #presets = new Map<string, ResiliencePolicy>();

  constructor(
    private readonly registry: PolicyRegistry,
    private readonly planner: Planner,
  ) {}

  /**
   * The preset as one policy, always the same object. Its breaker, bulkhead and rate limit are those that the
   * entrypoints of this preset use. Its retry always applies: use it for calls that are safe to repeat.
   *
   * @throws Error when there is no such preset.
   */
  preset(name: string): ResiliencePolicy {
    const found = this.#presets.get(name);
    if (found !== undefined) return found;

    const merged = this.registry.mergePreset(name);
    const policy = composeStages(this.registry.build(merged, name), name);
    this.registry.noteBoundless(merged, `presets.${name}`);
    this.#presets.set(name, policy);
    return policy;
  }

  /**
   * A new policy from options. Stateful stages without a name are its own; those with one, or given as a string, are
   * shared. Create it once, in a constructor, and not for every call.
   *
   * @param name Shown in events and errors.
   * @throws TypeError naming the option, such as `retry.attempts`.
   */
  create(options: ResiliencePreset, name = 'anonymous'): ResiliencePolicy {
    const stages = readStages(options);
    checkOverDefaults(stages, this.registry.settings);
    const merged = this.registry.mergeAlone(name, stages);
    const policy = composeStages(this.registry.buildPrivate(merged, name), name);
    this.registry.noteBoundless(merged, `create(…, "${name}")`);
    return policy;
  }

  /** @throws Error when neither a preset, a decorator nor `create()` has named it. */
  circuitBreaker(name: string): CircuitBreakerPolicy {
    return this.registry.circuitBreakers.get(name);
  }

  /** @throws Error when neither a preset, a decorator nor `create()` has named it. */
  bulkhead(name: string): BulkheadPolicy {
    return this.registry.bulkheads.get(name);
  }

  /** @throws Error when neither a preset nor `create()` has named it. */
  outboundRateLimit(name: string): OutboundRateLimitPolicy {
    return this.registry.outboundRateLimits.get(name);
  }

  /** Those created so far, in order: a preset that nobody has used yet is missing. */
  circuitBreakers(): CircuitBreakerPolicy[] {
    return this.registry.circuitBreakers.created();
  }

  /** Those created so far, in order: a preset that nobody has used yet is missing. */
  bulkheads(): BulkheadPolicy[] {
    return this.registry.bulkheads.created();
  }

  /** Those created so far, in order: a preset that nobody has used yet is missing. */
  outboundRateLimits(): OutboundRateLimitPolicy[] {
    return this.registry.outboundRateLimits.created();
  }

  /**
   * How long each entrypoint with resilience settings may keep its caller waiting, with the arithmetic. A fan-out is
   * listed under its entrypoint once it has run there.
   */
  budgets(): TimeBudget[] {
    return this.planner.budgets();
  }
}

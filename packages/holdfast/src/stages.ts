import type { Duration } from './duration.js';
import { nearestName, OptionError, rejectUnknown, requireFunction, requireObject, withPath } from './options.js';
import { ResiliencePolicy, wrapNamed } from './policy.js';
import { BulkheadPolicy, type BulkheadOptions } from './policies/bulkhead.js';
import type { AdaptiveTimeout } from './adaptive/adaptive-timeout.js';
import type { CircuitBreakerOptions } from './policies/circuit-breaker-options.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { BudgetPolicy } from './policies/budget.js';
import { FallbackPolicy, type FallbackHandler, type FallbackOptions } from './policies/fallback.js';
import { OutboundRateLimitPolicy, type OutboundRateLimitOptions } from './policies/rate-limit.js';
import { RetryPolicy, type RetryOptions } from './policies/retry.js';
import { TimeoutPolicy, type TimeoutFunction } from './policies/timeout.js';

/**
 * From stages to one policy. This file is the only place that knows their order, outermost first:
 *
 * fallback, budget, retry, circuit breaker, outbound rate limit, timeout, bulkhead, work.
 *
 * So the fallback sees every refusal, each attempt is counted by the breaker and has its own limit and slot, refusals
 * of the rate limit and waits for it are outside of the limit, and time in the bulkhead's queue is inside.
 */

/** One policy per stage; a stage that is missing is left out, and so is a retry with a single attempt. */
export interface Stages {
  readonly fallback?: FallbackPolicy | undefined;
  readonly budget?: BudgetPolicy | undefined;
  readonly retry?: RetryPolicy | undefined;
  readonly circuitBreaker?: CircuitBreakerPolicy | undefined;
  readonly outboundRateLimit?: OutboundRateLimitPolicy | undefined;
  readonly timeout?: TimeoutPolicy | undefined;
  readonly bulkhead?: BulkheadPolicy | undefined;
}

/** Puts stages around each other in the canonical order, under one name. */
export function composeStages(stages: Stages, name: string): ResiliencePolicy {
  const { fallback, budget, retry, circuitBreaker, outboundRateLimit, timeout, bulkhead } = stages;
  const repeats = retry !== undefined && retry.attempts > 1 ? retry : undefined;
  const ordered = [fallback, budget, repeats, circuitBreaker, outboundRateLimit, timeout, bulkhead];

  return wrapNamed(
    name,
    ordered.filter((stage) => stage !== undefined),
  );
}

/** The stages of one policy, in any order. A policy object in place of a stage's options is shared with its other users. */
export interface StageOptions {
  readonly fallback?: FallbackHandler | FallbackStageOptions | undefined;
  /** For all attempts, waits and queues together. Greater than 0. */
  readonly budget?: Duration | undefined;
  readonly retry?: (RetryOptions & NotPolicy) | number | false | undefined;
  readonly circuitBreaker?: (CircuitBreakerOptions & NotPolicy) | CircuitBreakerPolicy | undefined;
  readonly outboundRateLimit?: (OutboundRateLimitOptions & NotPolicy) | OutboundRateLimitPolicy | undefined;
  readonly timeout?: Duration | TimeoutFunction | AdaptiveTimeout | undefined;
  readonly bulkhead?: (BulkheadOptions & NotPolicy) | BulkheadPolicy | undefined;
}

/** Options, and no policy: policies have properties that are called like their options. */
export interface NotPolicy {
  readonly execute?: never;
}

export interface FallbackStageOptions extends Omit<FallbackOptions, 'name'> {
  readonly handler: FallbackHandler;
}

const KNOWN = ['fallback', 'budget', 'retry', 'circuitBreaker', 'outboundRateLimit', 'timeout', 'bulkhead'] as const;

/**
 * One policy from the options of its stages, put in the canonical order.
 *
 * @param name Shown in the events and errors of its stages, unless a stage has a name of its own.
 * @throws TypeError beginning with the path of the option, such as `retry.attempts`.
 */
export function createPolicy(options: StageOptions, name = 'anonymous'): ResiliencePolicy {
  refusePolicy(options, 'the options of stages');
  requireObject(options, '', "Use { timeout: '2s', retry: 3 }.");
  rejectUnknown(options, KNOWN);

  return composeStages(
    {
      fallback: build('fallback', options.fallback, (given) => createFallback(given, name)),
      budget: build('budget', options.budget, (budget) => {
        refusePolicy(budget, 'a duration');
        return new BudgetPolicy({ name, budget });
      }),
      retry: build('retry', options.retry, (given) => createRetry(given, name)),
      circuitBreaker: build('circuitBreaker', options.circuitBreaker, (given) =>
        given instanceof CircuitBreakerPolicy
          ? given
          : new CircuitBreakerPolicy({ name, ...defined(given, 'options or a CircuitBreakerPolicy') }),
      ),
      outboundRateLimit: build('outboundRateLimit', options.outboundRateLimit, (given) =>
        given instanceof OutboundRateLimitPolicy
          ? given
          : new OutboundRateLimitPolicy({ name, ...defined(given, 'options or an OutboundRateLimitPolicy') }),
      ),
      timeout: build('timeout', options.timeout, (timeout) => {
        refusePolicy(timeout, 'a duration or a function of the attempt');
        return new TimeoutPolicy({ name, timeout });
      }),
      bulkhead: build('bulkhead', options.bulkhead, (given) =>
        given instanceof BulkheadPolicy
          ? given
          : new BulkheadPolicy({ name, ...defined(given, 'options or a BulkheadPolicy') }),
      ),
    },
    name,
  );
}

function build<T, P>(stage: string, given: T | undefined, create: (given: T) => P): P | undefined {
  return given === undefined ? undefined : withPath(stage, () => create(given));
}

const KINDS = [
  [RetryPolicy, 'a RetryPolicy'],
  [TimeoutPolicy, 'a TimeoutPolicy'],
  [CircuitBreakerPolicy, 'a CircuitBreakerPolicy'],
  [BulkheadPolicy, 'a BulkheadPolicy'],
  [OutboundRateLimitPolicy, 'an OutboundRateLimitPolicy'],
  [FallbackPolicy, 'a FallbackPolicy'],
  [BudgetPolicy, 'a BudgetPolicy'],
] as const;

/**
 * Refuses a policy where something else is wanted. Its properties are called like its options, so that it would pass
 * for options, and be replaced by another policy that has some of them.
 */
export function refusePolicy(given: unknown, expected: string): void {
  if (!(given instanceof ResiliencePolicy)) return;

  const [, kind] = KINDS.find(([Policy]) => given instanceof Policy) ?? [undefined, 'several policies in one'];
  throw new OptionError(
    '',
    `expected ${expected}, got ${kind}. Write options here, or put policies around each other with ` +
      'ResiliencePolicy.wrap().',
  );
}

function createRetry(given: RetryOptions | number | false, name: string): RetryPolicy {
  if (typeof given === 'object') {
    return new RetryPolicy({ name, ...defined(given, 'options, a number of attempts, or false') });
  }

  return new RetryPolicy({ name, attempts: given === false ? 1 : given });
}

const FALLBACK_HINT = 'Use a function, or { handler, handleIf }.';

function createFallback(given: FallbackHandler | FallbackStageOptions, name: string): FallbackPolicy {
  const { handler, ...options } = readFallback(given);

  return new FallbackPolicy(handler, { name, ...options });
}

/** @throws TypeError when it is no fallback of a stage, which belongs to its policy and has no name of its own. */
export function readFallback(given: unknown): FallbackStageOptions {
  if (typeof given === 'function') return { handler: given as FallbackHandler };

  refusePolicy(given, 'a function or options');
  requireObject(given, '', FALLBACK_HINT);
  const options = given as FallbackStageOptions;
  const keys = Object.keys(options);
  const misspelt = keys.some((key) => nearestName(key, ['handler', 'handleIf']) !== undefined);
  if (options.handler === undefined && !misspelt) {
    const found = keys.length === 0 ? '' : `, only ${keys.join(', ')}`;
    throw new OptionError('handler', `is missing: expected a function, got undefined${found}. ${FALLBACK_HINT}`);
  }
  rejectUnknown(options, ['handler', 'handleIf']);
  requireFunction(options.handler, 'handler');

  return options;
}

/** The options without a name that is `undefined`, which would hide the policy's. */
function defined<T extends { readonly name?: string | undefined }>(options: T, expected: string): T {
  refusePolicy(options, expected);
  requireObject(options, '', 'Use an options object, or a policy object of this kind.');
  if (options.name !== undefined || !('name' in options)) return options;

  const { name: _absent, ...rest } = options;
  return rest as T;
}

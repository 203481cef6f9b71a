import type { Duration } from './duration.js';
import { rejectUnknown, requireObject, withPath } from './options.js';
import { wrapNamed, type ResiliencePolicy } from './policy.js';
import { BulkheadPolicy, type BulkheadOptions } from './policies/bulkhead.js';
import type { CircuitBreakerOptions } from './policies/circuit-breaker-options.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { FallbackPolicy, type FallbackHandler, type FallbackOptions } from './policies/fallback.js';
import { OutboundRateLimitPolicy, type OutboundRateLimitOptions } from './policies/rate-limit.js';
import { RetryPolicy, type RetryOptions } from './policies/retry.js';
import { TimeoutPolicy, type TimeoutFunction } from './policies/timeout.js';

/**
 * From stages to one policy. This file is the only place that knows their order, outermost first:
 *
 * fallback, retry, circuit breaker, outbound rate limit, timeout, bulkhead, work.
 *
 * So the fallback sees every refusal, each attempt is counted by the breaker and has its own limit and slot, refusals
 * of the rate limit and waits for it are outside of the limit, and time in the bulkhead's queue is inside.
 */

/** One policy per stage; a stage that is missing is left out, and so is a retry with a single attempt. */
export interface Stages {
  readonly fallback?: FallbackPolicy | undefined;
  readonly retry?: RetryPolicy | undefined;
  readonly circuitBreaker?: CircuitBreakerPolicy | undefined;
  readonly outboundRateLimit?: OutboundRateLimitPolicy | undefined;
  readonly timeout?: TimeoutPolicy | undefined;
  readonly bulkhead?: BulkheadPolicy | undefined;
}

/** Puts stages around each other in the canonical order, under one name. */
export function composeStages(stages: Stages, name: string): ResiliencePolicy {
  const { fallback, retry, circuitBreaker, outboundRateLimit, timeout, bulkhead } = stages;
  const repeats = retry !== undefined && retry.attempts > 1 ? retry : undefined;
  const ordered = [fallback, repeats, circuitBreaker, outboundRateLimit, timeout, bulkhead];

  return wrapNamed(
    name,
    ordered.filter((stage) => stage !== undefined),
  );
}

/** The stages of one policy, in any order. A policy object in place of a stage's options is shared with its other users. */
export interface StageOptions {
  readonly fallback?: FallbackHandler | FallbackStageOptions | undefined;
  readonly retry?: RetryOptions | number | false | undefined;
  readonly circuitBreaker?: CircuitBreakerOptions | CircuitBreakerPolicy | undefined;
  readonly outboundRateLimit?: OutboundRateLimitOptions | OutboundRateLimitPolicy | undefined;
  readonly timeout?: Duration | TimeoutFunction | undefined;
  readonly bulkhead?: BulkheadOptions | BulkheadPolicy | undefined;
}

export interface FallbackStageOptions extends Omit<FallbackOptions, 'name'> {
  readonly handler: FallbackHandler;
}

const KNOWN = ['fallback', 'retry', 'circuitBreaker', 'outboundRateLimit', 'timeout', 'bulkhead'] as const;

/**
 * One policy from the options of its stages, put in the canonical order.
 *
 * @param name Shown in the events and errors of its stages, unless a stage has a name of its own.
 * @throws TypeError beginning with the path of the option, such as `retry.attempts`.
 */
export function createPolicy(options: StageOptions, name = 'anonymous'): ResiliencePolicy {
  requireObject(options, '', "Use { timeout: '2s', retry: 3 }.");
  rejectUnknown(options, KNOWN);

  return composeStages(
    {
      fallback: build('fallback', options.fallback, (given) => createFallback(given, name)),
      retry: build('retry', options.retry, (given) => createRetry(given, name)),
      circuitBreaker: build('circuitBreaker', options.circuitBreaker, (given) =>
        given instanceof CircuitBreakerPolicy ? given : new CircuitBreakerPolicy({ name, ...defined(given) }),
      ),
      outboundRateLimit: build('outboundRateLimit', options.outboundRateLimit, (given) =>
        given instanceof OutboundRateLimitPolicy ? given : new OutboundRateLimitPolicy({ name, ...defined(given) }),
      ),
      timeout: build('timeout', options.timeout, (timeout) => new TimeoutPolicy({ name, timeout })),
      bulkhead: build('bulkhead', options.bulkhead, (given) =>
        given instanceof BulkheadPolicy ? given : new BulkheadPolicy({ name, ...defined(given) }),
      ),
    },
    name,
  );
}

function build<T, P>(stage: string, given: T | undefined, create: (given: T) => P): P | undefined {
  return given === undefined ? undefined : withPath(stage, () => create(given));
}

function createRetry(given: RetryOptions | number | false, name: string): RetryPolicy {
  if (typeof given === 'object') return new RetryPolicy({ name, ...defined(given) });

  return new RetryPolicy({ name, attempts: given === false ? 1 : given });
}

function createFallback(given: FallbackHandler | FallbackStageOptions, name: string): FallbackPolicy {
  if (typeof given === 'function') return new FallbackPolicy(given, { name });

  requireObject(given, '', 'Use a function, or { handler, handleIf }.');
  const { handler, ...options } = given;
  return new FallbackPolicy(handler, { name, ...options });
}

/** The options without a name that is `undefined`, which would hide the policy's. */
function defined<T extends { readonly name?: string | undefined }>(options: T): T {
  requireObject(options, '', 'Use an options object, or a policy object of this kind.');
  if (options.name !== undefined || !('name' in options)) return options;

  const { name: _absent, ...rest } = options;
  return rest as T;
}

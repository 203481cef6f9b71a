import { ConfigurableModuleBuilder, type ConfigurableModuleAsyncOptions } from '@nestjs/common';
import type {
  AdaptiveTimeout,
  BulkheadOptions,
  CircuitBreakerOptions,
  Duration,
  FallbackHandler,
  FallbackStageOptions,
  OutboundRateLimitOptions,
  RetryOptions,
  TimeoutFunction,
} from 'holdfast';
import { requireBoolean, type NotPolicy } from 'holdfast/binding';
import type { DegradedOptions } from './degradation/degraded-options.js';

/**
 * The time that each attempt gets: a duration greater than 0, a function of the attempt's number, from 1, or `adaptive()`:
 * one object for one dependency.
 */
export type AttemptTimeout = Duration | TimeoutFunction | AdaptiveTimeout;

/** Retry settings of a preset, of `defaults` and of `create()`; the policy is named by its place. */
export type RetryStageOptions = Omit<RetryOptions, 'name'>;

/**
 * A named set of stages, usually one per dependency. Its breaker, bulkhead and rate limit are shared by everybody who
 * uses the preset, and are registered under its name unless they have one of their own. A string means the
 * instance of that name, which is configured elsewhere.
 */
export interface ResiliencePreset {
  /** For all attempts, the waits between them and queues together; the fallback answers outside. Greater than 0. */
  readonly budget?: Duration | undefined;
  /** `false` or 1 makes one attempt. At entrypoints it applies to safe operations only. */
  readonly retry?: number | false | (RetryStageOptions & NotPolicy) | undefined;
  readonly timeout?: AttemptTimeout | undefined;
  readonly circuitBreaker?: string | (CircuitBreakerOptions & NotPolicy) | undefined;
  readonly bulkhead?: string | (BulkheadOptions & NotPolicy) | undefined;
  readonly outboundRateLimit?: string | (OutboundRateLimitOptions & NotPolicy) | undefined;
  /** At an entrypoint the handler also receives the `ExecutionContext`, after the attempt. */
  readonly fallback?: FallbackHandler | FallbackStageOptions | undefined;
}

/** GET, HEAD and OPTIONS; every call; or none. */
export type AbortOnDisconnect = 'safe' | 'always' | 'never';

/** Fills in the fields that a decorator or a preset leaves open. Never turns a stage on. */
export interface ResilienceDefaults {
  /** Greater than 0. Only for a bare `@Budget()`. */
  readonly budget?: Duration | undefined;
  readonly retry?: number | RetryStageOptions | undefined;
  readonly timeout?: AttemptTimeout | undefined;
  readonly circuitBreaker?: Omit<CircuitBreakerOptions, 'name'> | undefined;
  readonly bulkhead?: Omit<BulkheadOptions, 'name'> | undefined;
}

export interface ResilienceModuleOptions {
  readonly defaults?: ResilienceDefaults | undefined;
  readonly presets?: Readonly<Record<string, ResiliencePreset>> | undefined;
  /** Turns resilience errors thrown by any handler into the transport's error. Default `true`. */
  readonly mapErrors?: boolean | undefined;
  /** Registers the module globally. Default `true`. */
  readonly isGlobal?: boolean | undefined;
  /**
   * How long clients wait: the shorter of their own timeout and the load balancer's. Bootstrap warns about each
   * entrypoint whose worst case is longer. Default: nothing is compared.
   */
  readonly clientTimeout?: Duration | undefined;
  /**
   * Nothing is started with less time left of a budget, or of what a caller will wait. Below every budget. Default 1 ms.
   */
  readonly minRemaining?: Duration | undefined;
  /**
   * Headers in which HTTP callers may say how long they will wait: `x-request-timeout-ms`, `grpc-timeout`,
   * `connect-timeout-ms` or `x-envoy-expected-rq-timeout-ms`. Read for handlers with a plan; a value only shortens.
   * Default: none is read.
   */
  readonly deadlineHeaders?: readonly string[] | undefined;
  /**
   * Taken off what a caller says, for the way of the request and of the answer: without it the answer to a caller whose
   * time is over leaves when nobody waits for it any more. Default 0.
   */
  readonly deadlineMargin?: Duration | undefined;
  /**
   * Which HTTP calls end when their client leaves: those of safe methods (`'safe'`), all of them, or none. Handlers
   * with a plan only. Streams end with their client anyway. Default `'safe'`.
   */
  readonly abortOnDisconnect?: AbortOnDisconnect | undefined;
  /** What the headers of partial responses say. */
  readonly degraded?: DegradedOptions | undefined;
  /** Refuses the name of a breaker or bulkhead that nobody configures. Default `false`: most of them get the defaults. */
  readonly strictNames?: boolean | undefined;
}

export interface ResilienceOptionsFactory {
  createResilienceOptions(): Promise<ResilienceModuleOptions> | ResilienceModuleOptions;
}

export type ResilienceModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  ResilienceModuleOptions,
  'createResilienceOptions'
> &
  Pick<ResilienceModuleOptions, 'isGlobal'>;

/** Nest's machinery for `forRoot()` and `forRootAsync()`, and the token of the options. */
export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: RESILIENCE_MODULE_OPTIONS } =
  new ConfigurableModuleBuilder<ResilienceModuleOptions>({ moduleName: 'Resilience' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createResilienceOptions')
    .setExtras<Pick<ResilienceModuleOptions, 'isGlobal'>>({ isGlobal: true }, (definition, { isGlobal = true }) => ({
      ...definition,
      global: requireBoolean(isGlobal, 'isGlobal'),
    }))
    .build();

import './install.js';

// Nest integration
export { ResilienceModule } from './resilience.module.js';
export { RESILIENCE_MODULE_OPTIONS } from './resilience.options.js';
export { ResilienceService } from './resilience.service.js';
export { ResilienceContext } from './resilience.context.js';
export { ResilienceEvents } from './resilience.events.js';
export { RequestLogInterceptor } from './degradation/request-log.interceptor.js';
export { deadlineHeader } from './deadline-header.js';
export { boundedGrpcClient } from './clients/grpc-client.js';
export type { GrpcClient } from './clients/grpc-client.js';
export { boundedClient } from './clients/bounded-client.js';
export type { BoundedClientOptions, MessageClient } from './clients/bounded-client.js';
export {
  Budget,
  Bulkhead,
  CircuitBreaker,
  Fallback,
  Resilience,
  Retry,
  Signal,
  Timeout,
} from './resilience.decorators.js';

// Policy objects
export {
  adaptive,
  AdaptiveTimeout,
  BudgetPolicy,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  RetryPolicy,
  TimeoutPolicy,
} from 'holdfast';
export type { AttemptContext, CircuitBreakerStats, Deadline, ExecuteOptions } from 'holdfast';
export type { DegradedOptions } from './degradation/degraded-options.js';
export type { TimeBudget } from './entrypoint/time-budget.js';

// Options
export type {
  AbortOnDisconnect,
  AttemptTimeout,
  ResilienceDefaults,
  ResilienceModuleAsyncOptions,
  ResilienceModuleOptions,
  ResilienceOptionsFactory,
  ResiliencePreset,
  RetryStageOptions,
} from './resilience.options.js';
export type {
  EntrypointDecorator,
  FallbackDecoratorOptions,
  FallbackMethodDecorator,
  RetryDecoratorOptions,
} from './resilience.decorators.js';
export type { EntrypointFallback } from './entrypoint/metadata.js';
export type {
  AdaptiveTimeoutOptions,
  BudgetOptions,
  BackoffFunction,
  BackoffOptions,
  BulkheadOptions,
  CircuitBreakerOptions,
  Duration,
  FallbackHandler,
  FallbackOptions,
  FallbackStageOptions,
  OpenBackoffOptions,
  OutboundRateLimitOptions,
  RetryOptions,
  SlidingWindowOptions,
  TimeoutFunction,
  TimeoutOptions,
} from 'holdfast';

// Answers from several sections
export { collect, fanOut, optional, PartialResponse, required } from 'holdfast';
export type {
  CollectOptions,
  DeclaredValue,
  DegradedReason,
  DegradedSection,
  FanOutOptions,
  OptionalOptions,
  PartialBody,
  RequiredOptions,
  Section,
  SectionCollector,
  SectionContext,
  SectionData,
  SectionDeclaration,
  SectionFunction,
  SectionOptions,
  Sections,
  SectionTiming,
} from 'holdfast';

// Errors
export {
  BulkheadFullError,
  CircuitOpenError,
  ClientDisconnectedError,
  DeadlineExceededError,
  isClientError,
  isNetworkError,
  OutboundRateLimitError,
  RejectionError,
  ResilienceError,
  ResilienceTimeoutError,
  SectionFailedError,
  SiblingFailedError,
} from 'holdfast';

// Events
export type {
  CircuitState,
  ResilienceAbandonedEvent,
  ResilienceBulkheadRejectedEvent,
  ResilienceCircuitClosedEvent,
  ResilienceCircuitHalfOpenEvent,
  ResilienceCircuitOpenEvent,
  ResilienceCircuitRejectedEvent,
  ResilienceClientGoneEvent,
  ResilienceDeadlineEvent,
  ResilienceDegradedEvent,
  ResilienceEvent,
  ResilienceFallbackEvent,
  ResilienceRateLimitedEvent,
  ResilienceRetryEvent,
  ResilienceTimeoutEvent,
} from 'holdfast';

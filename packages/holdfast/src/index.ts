// Policies
export { ResiliencePolicy } from './policy.js';
export { RetryPolicy } from './policies/retry.js';
export { TimeoutPolicy } from './policies/timeout.js';
export { BudgetPolicy } from './policies/budget.js';
export { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
export { BulkheadPolicy } from './policies/bulkhead.js';
export { OutboundRateLimitPolicy } from './policies/rate-limit.js';
export { FallbackPolicy } from './policies/fallback.js';
export { createPolicy } from './stages.js';
export { adaptive, AdaptiveTimeout } from './adaptive/adaptive-timeout.js';

// Options
export type { Duration } from './duration.js';
export type { StageOptions, FallbackStageOptions } from './stages.js';
export type { RetryOptions } from './policies/retry.js';
export type { BackoffFunction, BackoffOptions } from './policies/backoff.js';
export type { TimeoutFunction, TimeoutOptions } from './policies/timeout.js';
export type { AdaptiveTimeoutOptions } from './adaptive/adaptive-timeout.js';
export type { BudgetOptions } from './policies/budget.js';
export type { CircuitBreakerStats } from './policies/circuit-breaker.js';
export type { CircuitBreakerOptions, OpenBackoffOptions } from './policies/circuit-breaker-options.js';
export type { SlidingWindowOptions } from './policies/sliding-window.js';
export type { BulkheadOptions } from './policies/bulkhead.js';
export type { OutboundRateLimitOptions } from './policies/rate-limit.js';
export type { FallbackHandler, FallbackOptions } from './policies/fallback.js';

// Deadlines
export { Deadline, type DeadlineOptions } from './deadline.js';
export { deadlineHeaderValue, readDeadline } from './deadline-headers.js';

// Answers from several sections
export { fanOut, type FanOutOptions, type SectionData, type Sections } from './sections/fan-out.js';
export { collect, type CollectOptions, type SectionCollector } from './sections/collect.js';
export {
  optional,
  required,
  type DeclaredValue,
  type OptionalOptions,
  type RequiredOptions,
  type Section,
  type SectionContext,
  type SectionDeclaration,
  type SectionFunction,
  type SectionOptions,
} from './sections/section.js';
export { PartialResponse, type PartialBody, type SectionTiming } from './sections/partial-response.js';
export type { DegradedReason, DegradedSection } from './sections/degraded.js';
export { degradedHeaders, isHeaderOfWholeAnswers, type DegradedHeadersOptions } from './sections/degraded-headers.js';

// Attempts
export type { AttemptContext } from './scope.js';
export type { ExecuteOptions } from './execution.js';

// Requests
export { clientGone, type ServedRequest, type ServedResponse } from './client-gone.js';

// Errors
export {
  BulkheadFullError,
  CircuitOpenError,
  ClientDisconnectedError,
  DeadlineExceededError,
  isClientError,
  OutboundRateLimitError,
  RejectionError,
  ResilienceError,
  ResilienceTimeoutError,
  SectionFailedError,
  SiblingFailedError,
} from './errors.js';
export { isNetworkError } from './network-error.js';

// Events
export { subscribe } from './events.js';
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
  ResilienceListener,
  ResilienceRateLimitedEvent,
  ResilienceRetryEvent,
  ResilienceTimeoutEvent,
} from './events.js';

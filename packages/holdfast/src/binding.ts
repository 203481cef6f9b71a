/**
 * What a framework's binding needs beyond the public engine. Internal: it may change with any release, so a binding
 * depends on exactly one version.
 */

// Executions whose outcome is not a promise
export { misuseOf } from './execute-options.js';
export { Attempt } from './attempt.js';
export { Execution, type Work } from './execution.js';
export type { Pipeline } from './pipeline.js';
export {
  ambientScope,
  currentScope,
  earlierBound,
  runInScope,
  isThenable,
  type Scope,
  type ScopeOptions,
} from './scope.js';

// Time
export { now } from './clock.js';

// Answers from several sections
export { answerScope, observeAnswers, type AnswerObserver } from './sections/answer.js';
export { refuseTakenHeader } from './sections/degraded-headers.js';

// Requests
export { isClientGone, isSent, isSentAtEnd, onClientGone, onClose, onConnectionClosed } from './client-gone.js';

// Stages
export { composeStages, readFallback, refusePolicy, type NotPolicy, type Stages } from './stages.js';

// Deadlines
export { BudgetStage } from './budget-stage.js';
export { requireDeadlineHeader } from './deadline-headers.js';

// Options
export { parseDuration, type DurationBounds } from './duration.js';
export {
  decision,
  editDistance,
  kindOf,
  nearestName,
  OptionError,
  refuseInherited,
  rejectUnknown,
  requireBoolean,
  requireCount,
  requireFunction,
  requireName,
  requireObject,
  requireOneOf,
  show,
  withPath,
} from './options.js';
export {
  createBackoff,
  resolveBackoff,
  exponentialDelay,
  type Backoff,
  type ResolvedBackoff,
} from './policies/backoff.js';
export { resolveBulkheadOptions } from './policies/bulkhead.js';
export { CIRCUIT_BREAKER_FIELDS, resolveCircuitBreakerOptions } from './policies/circuit-breaker-options.js';
export { resolveFallbackOptions } from './policies/fallback.js';
export { resolveOutboundRateLimitOptions } from './policies/rate-limit.js';
export { resolveRetryOptions } from './policies/retry.js';
export { resolveTimeout } from './policies/timeout.js';

// Errors and events
export { brand } from './brand.js';
export { discount, isRejection } from './errors.js';
export { EVENT_TYPES } from './event-types.js';
export { EventSource, reportError } from './events.js';

// Nest integration
export { IdempotencyModule } from './idempotency.module.js';
export { IDEMPOTENCY_MODULE_OPTIONS } from './idempotency.options.js';
export { Idempotent } from './idempotency.decorator.js';
export { IdempotencyService, type IdempotencyRun, type IdempotencyRunOptions } from './idempotency.service.js';
export { IdempotencyEvents } from './idempotency.events.js';

// Options
export type { Duration } from 'holdfast';
export type {
  IdempotencyModuleAsyncOptions,
  IdempotencyModuleOptions,
  IdempotencyOptionsFactory,
  IdempotentOptions,
} from './idempotency.options.js';

// Stores
export { IdempotencyStorage, type IdempotencyStorageRegisterOptions } from './idempotency.storage.js';
export {
  InMemoryIdempotencyStore,
  type InMemoryIdempotencyEntry,
  type InMemoryIdempotencyStoreOptions,
} from './stores/memory-store.js';
export type {
  IdempotencyAcquireResult,
  IdempotencySealedResponse,
  IdempotencyStore,
  IdempotencyStoredPayload,
  IdempotencyStoredResponse,
} from './store.js';

// Errors
export { IdempotencyLockLostError } from './execution/lock.js';
export { IdempotencyRejectedError } from './execution/rejection.js';
export { IdempotencyStoreFullError } from './stores/store-full-error.js';
export { IdempotencyStoreTimeoutError } from './execution/bounded-store.js';

// Events
export type {
  IdempotencyErrorCode,
  IdempotencyEvent,
  IdempotencyExecutedEvent,
  IdempotencyLockLostEvent,
  IdempotencyRejectedEvent,
  IdempotencyReleasedEvent,
  IdempotencyReplayedEvent,
  IdempotencyStoredEvent,
  IdempotencyStoreErrorEvent,
} from './idempotency.events.js';

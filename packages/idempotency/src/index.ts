// Stores
export {
  InMemoryIdempotencyStore,
  type InMemoryIdempotencyEntry,
  type InMemoryIdempotencyStoreOptions,
} from './stores/memory-store.js';
export { IdempotencyStoreFullError } from './stores/store-full-error.js';
export type {
  IdempotencyAcquireResult,
  IdempotencySealedResponse,
  IdempotencyStore,
  IdempotencyStoredPayload,
  IdempotencyStoredResponse,
} from './store.js';

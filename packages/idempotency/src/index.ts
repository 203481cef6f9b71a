// Stores
export type {
  IdempotencyAcquireResult,
  IdempotencySealedResponse,
  IdempotencyStore,
  IdempotencyStoredPayload,
  IdempotencyStoredResponse,
} from './store.js';

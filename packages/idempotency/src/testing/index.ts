export {
  idempotencyStoreContract,
  type IdempotencyStoreContractCase,
  type IdempotencyStoreContractOptions,
} from './store-contract.js';
export type {
  IdempotencyAcquireResult,
  IdempotencySealedResponse,
  IdempotencyStore,
  IdempotencyStoredPayload,
  IdempotencyStoredResponse,
} from '../store.js';

// Store
export { PostgresIdempotencyStore, type PostgresIdempotencyStoreOptions } from './postgres-store.js';
export type { PostgresQueryable } from './queryable.js';

// Table
export { idempotencySchema, type IdempotencyTableOptions } from './table.js';

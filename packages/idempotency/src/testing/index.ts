export type { IdempotencyStore } from '../store.js';

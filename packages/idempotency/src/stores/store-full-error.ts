import { brand } from 'holdfast/binding';

/**
 * A store has room for no further key. Nothing was stored and nothing was dropped: every lock and record that is alive
 * still holds. A call that meets this error runs without protection, rather than at the cost of another's.
 */
export class IdempotencyStoreFullError extends Error {
  readonly code = 'IDEMPOTENCY_STORE_FULL';
  /** How many locks and records the store may hold. */
  readonly maxEntries: number;

  constructor(maxEntries: number) {
    super(`The idempotency store holds ${maxEntries} locks and records, as many as it may (maxEntries)`);
    this.name = 'IdempotencyStoreFullError';
    this.maxEntries = maxEntries;
  }
}

brand(IdempotencyStoreFullError, Symbol.for('nestjs.idempotency.store-full'));

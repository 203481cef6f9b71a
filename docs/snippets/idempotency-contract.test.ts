import { InMemoryIdempotencyStore as MyStore } from '@nestjs/idempotency';
// #region contract
import { idempotencyStoreContract } from '@nestjs/idempotency/testing';
import { describe, it } from 'vitest';

describe('My store', () => {
  for (const { name, run } of idempotencyStoreContract(() => new MyStore(), { concurrent: true })) it(name, run);
});
// #endregion

import { PGlite } from '@electric-sql/pglite';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { idempotencyStoreContract, type IdempotencyStore } from '@nestjs/idempotency/testing';
import { types } from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { describeWith } from '../../../../tools/services/services.js';
import { ownDatabase } from '../fixtures/postgres.js';

/** PostgreSQL as WebAssembly is compiled and set up first, and its calls come one after the other. */
const PATIENCE_MS = 60_000;

/** Nothing that a busy machine does takes a quarter of it. */
const LOCK_TIME = '1.5s';

/** Side by side, so that they wait together, and longer for each end than they may hold each other up. */
function testContract(storeOf: () => IdempotencyStore): void {
  for (const { name, run } of idempotencyStoreContract(storeOf, { concurrent: true, lockTime: LOCK_TIME })) {
    it.concurrent(name, run, PATIENCE_MS);
  }
}

describeWith('postgres', 'The PostgreSQL store on a pool of pg', () => {
  const database = ownDatabase();
  let store: PostgresIdempotencyStore;

  beforeAll(async () => {
    store = new PostgresIdempotencyStore(database.admin);
    await store.ensureSchema();
  });

  testContract(() => store);
});

describeWith(
  'postgres',
  'The PostgreSQL store in serializable sessions of 16 connections, beside another table',
  () => {
    const database = ownDatabase();
    let store: PostgresIdempotencyStore;

    beforeAll(async () => {
      await database.admin.query('CREATE SCHEMA app');
      const pool = database.lasting({ options: '-c default_transaction_isolation=serializable' });
      store = new PostgresIdempotencyStore(pool, { schema: 'app', table: 'Keys' });
      await store.ensureSchema();
    });

    testContract(() => store);
  },
);

describeWith('postgres', 'The PostgreSQL store on one connection, whose parsers of types are strange', () => {
  const database = ownDatabase();
  let store: PostgresIdempotencyStore;

  beforeAll(async () => {
    const pool = database.lasting({
      max: 1,
      types: {
        getTypeParser: (type, format) =>
          type === types.builtins.TEXT ? types.getTypeParser(type, format) : () => 'of another kind',
      },
    });
    store = new PostgresIdempotencyStore(pool);
    await store.ensureSchema();
  });

  testContract(() => store);
});

describe('The PostgreSQL store on PGlite', () => {
  let database: PGlite;
  let store: PostgresIdempotencyStore;

  beforeAll(async () => {
    database = await PGlite.create();
    store = new PostgresIdempotencyStore(database);
    await store.ensureSchema();
  }, PATIENCE_MS);
  afterAll(() => database.close());

  // One after the other: each keeps the only thread there is from all others.
  for (const { name, run } of idempotencyStoreContract(() => store, { concurrent: true, lockTime: '1s' })) {
    it(name, run, PATIENCE_MS);
  }
});

import { Logger } from '@nestjs/common';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { Pool } from 'pg';
import type { KeyDatabase } from './key-database.js';
import { KeyStoreError, serverIn } from './key-store-settings.js';

const CONNECT_TIMEOUT_MS = 5_000;

/** @throws KeyStoreError when the server cannot be reached, or refuses us. */
export async function openPostgresKeys(url: string): Promise<KeyDatabase> {
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // Of connections that nobody uses just now: the pool opens others when they are needed.
  pool.on('error', (error) =>
    new Logger('Keys').warn(`A connection to the database of the keys broke: ${error.message}`),
  );

  const store = new PostgresIdempotencyStore(pool);
  try {
    await store.ensureSchema();
  } catch (error) {
    await pool.end();
    throw new KeyStoreError(`The database at ${serverIn(url)} (DATABASE_URL) does not take keys: ${reasonOf(error)}`, {
      cause: error,
    });
  }

  return { store, place: `the PostgreSQL at ${serverIn(url)}`, close: () => pool.end() };
}

/** Node tells of several addresses that were tried in an error without words. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;

  return message === '' ? String(code) : message;
}

import { Logger } from '@nestjs/common';
import { RedisIdempotencyStore } from '@nestjs/idempotency/redis';
import { Redis } from 'ioredis';
import type { KeyDatabase } from './key-database.js';
import { KeyStoreError, serverIn } from './key-store-settings.js';

const CONNECT_TIMEOUT_MS = 5_000;

/** @throws KeyStoreError when the server cannot be reached, or refuses us. */
export async function openRedisKeys(url: string): Promise<KeyDatabase> {
  let connected = false;
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A call that waits for a server which is away is one that its client has given up: better say so at once.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => (connected ? Math.min(attempt * 100, 2_000) : null),
  });
  let lastError = new Error('the connection was closed');
  client.on('error', (error: Error) => {
    lastError = error;
    if (connected) new Logger('Keys').warn(`The Redis of the keys: ${error.message}`);
  });

  try {
    await client.connect();
    connected = true;
  } catch {
    client.disconnect();
    throw new KeyStoreError(`The Redis at ${serverIn(url)} (REDIS_URL) does not take keys: ${lastError.message}`, {
      cause: lastError,
    });
  }

  const store = new RedisIdempotencyStore(client);
  // Warns when Redis may drop them. Servers that do not tell are left alone.
  await store.checkEviction().catch(() => {});

  return {
    store,
    place: `the Redis at ${serverIn(url)}`,
    close: async () => {
      await client.quit().catch(() => client.disconnect());
    },
  };
}

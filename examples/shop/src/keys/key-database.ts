import type { IdempotencyStore } from '@nestjs/idempotency';
import type { KeyStoreSettings } from './key-store-settings.js';

/** An open database, ready for the first request. */
export interface KeyDatabase {
  readonly store: IdempotencyStore;
  /** What `npm start` says of it. */
  readonly place: string;
  close(): Promise<void>;
}

/**
 * Opens the database of the keys, and makes what is missing in it.
 *
 * @throws KeyStoreError when it cannot be opened.
 */
export async function openKeyDatabase(settings: KeyStoreSettings): Promise<KeyDatabase> {
  // Each of them brings a library of its own, of which one is loaded.
  switch (settings.kind) {
    case 'postgres':
      return (await import('./postgres-keys.js')).openPostgresKeys(settings.url);
    case 'redis':
      return (await import('./redis-keys.js')).openRedisKeys(settings.url);
    case 'embedded':
      return (await import('./embedded-keys.js')).openEmbeddedKeys(settings.folder);
  }
}

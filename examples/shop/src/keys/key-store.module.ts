import { Global, Inject, Injectable, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { IdempotencyStorage } from '@nestjs/idempotency';
import type { KeyDatabase } from './key-database.js';

const KEY_DATABASE = Symbol('the database of the keys');

/** Gives the module of the keys its store, and closes its database when nobody needs it any more. */
@Injectable()
export class KeyStore implements OnApplicationShutdown {
  constructor(
    storage: IdempotencyStorage,
    @Inject(KEY_DATABASE) private readonly database: KeyDatabase,
  ) {
    storage.registerSource(database.store);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.database.close();
  }
}

/**
 * Calls that still run at a shutdown need the store to the end. Nest shuts modules down from the root of the application on,
 * and global modules last, the one that was imported last first. So this one is global, and imported by a module that stands
 * above the one which imports `IdempotencyModule`.
 */
@Global()
@Module({})
export class KeyStoreModule {
  static on(database: KeyDatabase): DynamicModule {
    return { module: KeyStoreModule, providers: [KeyStore, { provide: KEY_DATABASE, useValue: database }] };
  }
}

import { Injectable, Logger } from '@nestjs/common';
import { rejectUnknown, requireBoolean, requireObject, show, withPath } from 'holdfast/binding';
import type { IdempotencyStore } from './store.js';
import { InMemoryIdempotencyStore } from './stores/memory-store.js';

export interface IdempotencyStorageRegisterOptions {
  /** Takes the place of a store that is registered already. Default `false`. */
  readonly replace?: boolean | undefined;
}

const METHODS = ['acquire', 'complete', 'release', 'extend'] as const satisfies readonly (keyof IdempotencyStore)[];

/**
 * Where an application's store is registered: by the store's provider itself, in its constructor. From the start of the
 * application on it stays the same.
 */
@Injectable()
export class IdempotencyStorage {
  private readonly logger = new Logger('IdempotencyModule');
  private registered: IdempotencyStore | undefined = undefined;
  private isDefault = false;
  private locked = false;
  private announced = false;

  /**
   * @throws TypeError when it is no store.
   * @throws Error when there is one already, or when it is too late.
   */
  registerSource(store: IdempotencyStore, options: IdempotencyStorageRegisterOptions = {}): void {
    requireStore(store);
    const replace = readReplace(options);
    if (this.locked) {
      throw new Error(
        `${nameOf(store)} was registered too late: the application runs on ${nameOf(this.registered)}. Register it in the ` +
          'constructor of a provider that is neither request-scoped nor lazy.',
      );
    }
    if (this.registered !== undefined && !replace) {
      throw new Error(
        `${nameOf(store)} was registered, but ${nameOf(this.registered)} is there already. An application has one store; ` +
          '{ replace: true } puts another in its place.',
      );
    }

    this.registered = store;
  }

  /** The store, from now on for good; one in memory when nobody has registered one. */
  get source(): IdempotencyStore {
    this.locked = true;
    if (this.registered !== undefined) return this.registered;

    this.isDefault = true;
    return (this.registered = new InMemoryIdempotencyStore());
  }

  /**
   * Ends the time for registrations. Nest starts an application again for each microservice that it initializes later.
   *
   * @internal
   */
  lock({ allowInMemoryStorage }: { readonly allowInMemoryStorage: boolean }): void {
    const isDefault = this.registered === undefined || this.isDefault;
    if (isDefault && process.env['NODE_ENV'] === 'production' && !allowInMemoryStorage) {
      throw new Error(
        'No idempotency store is registered, and records in memory are lost on every restart and unknown to other ' +
          'instances, which could run a handler twice. Register a store, such as PostgresIdempotencyStore of ' +
          '@nestjs/idempotency/postgres or RedisIdempotencyStore of @nestjs/idempotency/redis, or set ' +
          'allowInMemoryStorage: true.',
      );
    }

    const name = nameOf(this.source);
    if (this.announced) return;

    this.announced = true;
    if (isDefault) this.logger.log('Idempotency records are kept in memory: lost on restart, not shared by instances');
    else this.logger.log(`Idempotency records are kept by ${name}`);
  }
}

function readReplace(options: IdempotencyStorageRegisterOptions): boolean {
  return withPath('registerSource()', () => {
    requireObject(options, '', 'Use { replace: true }, or nothing.');
    rejectUnknown(options, ['replace']);

    return requireBoolean(options.replace ?? false, 'replace');
  });
}

function requireStore(store: unknown): void {
  if (typeof store === 'function') {
    throw new TypeError(
      `registerSource() was given the class ${store.name || '(anonymous)'} itself. Give it an instance: registerSource(this).`,
    );
  }

  const methods = (typeof store === 'object' && store !== null ? store : {}) as Readonly<Record<string, unknown>>;
  const missing = METHODS.filter((method) => typeof methods[method] !== 'function');
  if (missing.length === 0) return;

  throw new TypeError(
    `registerSource() was given ${show(store)} without ${missing.map((method) => `${method}()`).join(', ')}. ` +
      'A store has the methods of IdempotencyStore.',
  );
}

function nameOf(store: IdempotencyStore | undefined): string {
  // Without a prototype it has no constructor.
  const name = (store as Partial<object> | undefined)?.constructor?.name;

  return name === undefined || name === '' || name === 'Object' ? 'a store without a class' : name;
}

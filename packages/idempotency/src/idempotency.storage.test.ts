import { Logger } from '@nestjs/common';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { IdempotencyStorage } from './idempotency.storage.js';
import type { IdempotencyStore } from './store.js';
import { InMemoryIdempotencyStore } from './stores/memory-store.js';

class OwnStore extends InMemoryIdempotencyStore {}
class OtherStore extends InMemoryIdempotencyStore {}

const IN_MEMORY = { allowInMemoryStorage: true };
const NOT_IN_MEMORY = { allowInMemoryStorage: false };

function listen(): { readonly lines: unknown[] } {
  const lines: unknown[] = [];
  vi.spyOn(Logger.prototype, 'log').mockImplementation((line: unknown) => void lines.push(line));

  return { lines };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('A store', () => {
  it('is registered by its provider, and stays from the start of the application on', () => {
    const { lines } = listen();
    const storage = new IdempotencyStorage();
    const store = new OwnStore();
    storage.registerSource(store);
    storage.lock(NOT_IN_MEMORY);

    expect(storage.source).toBe(store);
    expect(lines).toEqual(['Idempotency records are kept by OwnStore']);
    expect(() => storage.registerSource(new OtherStore(), { replace: true })).toThrow(
      /^OtherStore was registered too late: the application runs on OwnStore\. Register it in the constructor/,
    );
  });

  it('is told of once, however often Nest starts the application, as for a microservice that is initialized later', () => {
    const { lines } = listen();
    const storage = new IdempotencyStorage();
    storage.registerSource(new OwnStore());
    storage.lock(NOT_IN_MEMORY);
    storage.lock(NOT_IN_MEMORY);

    expect(lines).toHaveLength(1);
  });

  it('is one: a second is refused, both named, unless it is to replace the first', () => {
    const storage = new IdempotencyStorage();
    storage.registerSource(new OwnStore());
    const other = new OtherStore();

    expect(() => storage.registerSource(other)).toThrow(
      'OtherStore was registered, but OwnStore is there already. An application has one store; { replace: true } puts another in its place.',
    );
    expect(() => storage.registerSource(other, { replace: undefined })).toThrow(/is there already/);
    storage.registerSource(other, { replace: true });
    expect(storage.source).toBe(other);
  });

  it('cannot be registered once it has been asked for', () => {
    const storage = new IdempotencyStorage();
    expect(storage.source).toBeInstanceOf(InMemoryIdempotencyStore);

    expect(() => storage.registerSource(new OwnStore())).toThrow(/too late: the application runs on InMemory/);
  });

  it.each<[unknown, RegExp]>([
    [
      OwnStore,
      /^registerSource\(\) was given the class OwnStore itself\. Give it an instance: registerSource\(this\)\.$/,
    ],
    [class {}, /^registerSource\(\) was given the class \(anonymous\) itself/],
    [undefined, /given undefined without acquire\(\), complete\(\), release\(\), extend\(\)/],
    ['store', /given "store" without acquire\(\)/],
    [{ acquire: () => {}, complete: () => {}, extend: 5 }, /given an object without release\(\), extend\(\)/],
  ])('must be one: %s is refused at once', (given, message) => {
    const act = (): void => new IdempotencyStorage().registerSource(given as IdempotencyStore);

    expect(act).toThrow(TypeError);
    expect(act).toThrow(message);
  });

  it.each<[unknown, RegExp]>([
    [null, /^registerSource\(\): expected an options object, got null/],
    [{ replce: true }, /^registerSource\(\)\.replce: unknown option.*Did you mean "replace"\?/],
    [{ replace: 'yes' }, /^registerSource\(\)\.replace: expected true or false/],
  ])('is registered with options that are checked: %j', (options, message) => {
    expect(() => new IdempotencyStorage().registerSource(new OwnStore(), options as never)).toThrow(message);
  });

  it('may have no class, and no prototype at all', () => {
    const { lines } = listen();
    const methods = Object.fromEntries(
      ['acquire', 'complete', 'release', 'extend'].map((name) => [name, async () => true]),
    );
    for (const prototype of [Object.prototype, null]) {
      const storage = new IdempotencyStorage();
      storage.registerSource(Object.assign(Object.create(prototype) as IdempotencyStore, methods));
      storage.lock(NOT_IN_MEMORY);
    }

    expect(lines).toEqual(Array(2).fill('Idempotency records are kept by a store without a class'));
  });
});

describe('Without a store', () => {
  it('records are kept in memory, which is logged', () => {
    const { lines } = listen();
    const storage = new IdempotencyStorage();
    storage.lock(NOT_IN_MEMORY);

    expect(storage.source).toBeInstanceOf(InMemoryIdempotencyStore);
    expect(lines).toEqual(['Idempotency records are kept in memory: lost on restart, not shared by instances']);
  });

  it('production is refused, and a store can still be registered', () => {
    const { lines } = listen();
    vi.stubEnv('NODE_ENV', 'production');
    const storage = new IdempotencyStorage();

    expect(() => storage.lock(NOT_IN_MEMORY)).toThrow(
      /^No idempotency store is registered.*allowInMemoryStorage: true/,
    );
    storage.registerSource(new OwnStore());
    storage.lock(NOT_IN_MEMORY);
    expect(lines).toEqual(['Idempotency records are kept by OwnStore']);
  });

  it('production is refused also when somebody has looked at the source before', () => {
    vi.stubEnv('NODE_ENV', 'production');
    const storage = new IdempotencyStorage();
    expect(storage.source).toBeInstanceOf(InMemoryIdempotencyStore);

    expect(() => storage.lock(NOT_IN_MEMORY)).toThrow(/^No idempotency store is registered/);
  });

  it('production goes without one when it is told to', () => {
    const { lines } = listen();
    vi.stubEnv('NODE_ENV', 'production');
    new IdempotencyStorage().lock(IN_MEMORY);

    expect(lines).toHaveLength(1);
  });

  it('production may have the one in memory that it has registered itself', () => {
    listen();
    vi.stubEnv('NODE_ENV', 'production');
    const storage = new IdempotencyStorage();
    storage.registerSource(new InMemoryIdempotencyStore());

    expect(() => storage.lock(NOT_IN_MEMORY)).not.toThrow();
  });
});

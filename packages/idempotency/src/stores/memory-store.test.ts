import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IdempotencyStoredResponse } from '../store.js';
import { idempotencyStoreContract } from '../testing/index.js';
import { InMemoryIdempotencyStore, type InMemoryIdempotencyStoreOptions } from './memory-store.js';
import { IdempotencyStoreFullError } from './store-full-error.js';

const MINUTE = 60_000;
const ANSWER: IdempotencyStoredResponse = { status: 201, headers: {}, body: { id: 1 } };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});

afterEach(() => {
  if (vi.isFakeTimers()) expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('The store in memory', () => {
  const cases = idempotencyStoreContract(() => new InMemoryIdempotencyStore(), {
    concurrent: true,
    advanceTime: (milliseconds) => void vi.advanceTimersByTime(milliseconds),
  });

  it.each(cases.map(({ name, run }) => [name, run] as const))('%s', (_name, run) => run());

  it('ends a lock at its very millisecond', async () => {
    const store = new InMemoryIdempotencyStore();
    await store.acquire('key', 'first', 'print', 100);

    vi.advanceTimersByTime(99);
    expect(await store.acquire('key', 'second', 'print', 100)).toEqual({ state: 'in-flight', fingerprint: 'print' });
    vi.advanceTimersByTime(1);
    expect(await store.acquire('key', 'second', 'print', 100)).toEqual({ state: 'acquired' });
  });

  it('goes by time that has passed, whatever the wall clock says', async () => {
    vi.useRealTimers();
    const store = new InMemoryIdempotencyStore();
    // The wall clock was set back by an hour, as seen from here.
    const start = performance.now() + 60 * MINUTE;
    const passed = vi.spyOn(performance, 'now').mockReturnValue(start);
    await store.acquire('key', 'first', 'print', MINUTE);

    passed.mockReturnValue(start + MINUTE - 1);
    expect(await store.acquire('key', 'second', 'print', MINUTE)).toMatchObject({ state: 'in-flight' });
    passed.mockReturnValue(start + MINUTE + 1);
    expect(await store.acquire('key', 'second', 'print', MINUTE)).toEqual({ state: 'acquired' });
  });

  it('refuses an answer that is no data, and leaves the lock to its owner', async () => {
    const store = new InMemoryIdempotencyStore();
    await store.acquire('key', 'owner', 'print', 100);
    const answer = { ...ANSWER, body: { run: () => 1 } };

    await expect(store.complete('key', 'owner', answer, MINUTE)).rejects.toThrow(/could not be cloned/);
    expect(store.peek('key')).toEqual({ state: 'in-flight', fingerprint: 'print' });
    expect(await store.complete('key', 'owner', ANSWER, MINUTE)).toBe(true);
  });
});

describe('What is in memory', () => {
  it('can be looked at by its key, as a copy', async () => {
    const store = new InMemoryIdempotencyStore();
    expect(store.peek('key')).toBeUndefined();
    await store.acquire('key', 'owner', 'print', 100);
    expect(store.peek('key')).toEqual({ state: 'in-flight', fingerprint: 'print' });
    await store.complete('key', 'owner', ANSWER, MINUTE);

    const seen = store.peek('key') as { response: { body: { id: number } } };
    expect(seen).toEqual({ state: 'completed', fingerprint: 'print', response: ANSWER });
    seen.response.body.id = 2;
    expect(store.peek('key')).toMatchObject({ response: { body: { id: 1 } } });
    vi.advanceTimersByTime(MINUTE);
    expect(store.peek('key')).toBeUndefined();
  });

  it('is counted while it is alive', async () => {
    const store = new InMemoryIdempotencyStore();
    await store.acquire('a', 'owner', 'print', 100);
    await store.acquire('b', 'owner', 'print', 200);
    await store.acquire('c', 'owner', 'print', 200);
    await store.complete('c', 'owner', ANSWER, 300);

    expect(store.size).toBe(3);
    vi.advanceTimersByTime(100);
    expect(store.size).toBe(2);
    vi.advanceTimersByTime(100);
    expect(store.size).toBe(1);
    vi.advanceTimersByTime(100);
    expect(store.size).toBe(0);
  });

  it('is all forgotten by clear()', async () => {
    const store = new InMemoryIdempotencyStore({ maxEntries: 1 });
    await store.acquire('key', 'owner', 'print', 100);
    store.clear();

    expect([store.size, store.peek('key')]).toEqual([0, undefined]);
    expect(await store.extend('key', 'owner', 100)).toBe(false);
    expect(await store.acquire('other', 'owner', 'print', 100)).toEqual({ state: 'acquired' });
  });

  it('is swept by every 1,000th acquire(), though nobody asks for those keys again', async () => {
    const store = new InMemoryIdempotencyStore();
    const held = vi.spyOn(Map.prototype, 'delete');
    for (let call = 0; call < 998; call++) await store.acquire(`old-${call}`, 'owner', 'print', 100);
    vi.advanceTimersByTime(100);
    await store.acquire('key-999', 'owner', 'print', 100);
    expect(held).toHaveBeenCalledTimes(0);
    await store.acquire('key-1000', 'owner', 'print', 100);

    expect(held).toHaveBeenCalledTimes(998);
    held.mockRestore();
  });
});

describe('A limit to what is in memory', () => {
  const full = async (): Promise<InMemoryIdempotencyStore> => {
    const store = new InMemoryIdempotencyStore({ maxEntries: 2 });
    await store.acquire('lock', 'owner', 'print', 100);
    await store.acquire('record', 'owner', 'print', 100);
    await store.complete('record', 'owner', ANSWER, MINUTE);

    return store;
  };

  it('refuses one more key, and drops nothing that is alive', async () => {
    const store = await full();

    await expect(store.acquire('third', 'owner', 'print', 100)).rejects.toThrow(IdempotencyStoreFullError);
    await expect(store.acquire('third', 'owner', 'print', 100)).rejects.toMatchObject({
      name: 'IdempotencyStoreFullError',
      code: 'IDEMPOTENCY_STORE_FULL',
      maxEntries: 2,
    });
    expect(store.peek('lock')).toMatchObject({ state: 'in-flight' });
    expect(store.peek('record')).toMatchObject({ state: 'completed' });
    expect(store.peek('third')).toBeUndefined();
  });

  it('leaves the keys alone that are there: they replay, extend, complete and release', async () => {
    const store = await full();

    expect(await store.acquire('lock', 'other', 'print', 100)).toMatchObject({ state: 'in-flight' });
    expect(await store.acquire('record', 'other', 'print', 100)).toMatchObject({
      state: 'completed',
      response: ANSWER,
    });
    expect(await store.extend('lock', 'owner', 200)).toBe(true);
    expect(await store.complete('lock', 'owner', ANSWER, MINUTE)).toBe(true);
  });

  it('has room again once something is over or released', async () => {
    const store = await full();
    vi.advanceTimersByTime(99);
    await expect(store.acquire('third', 'owner', 'print', 100)).rejects.toThrow(IdempotencyStoreFullError);
    vi.advanceTimersByTime(1);
    expect(await store.acquire('third', 'owner', 'print', 100)).toEqual({ state: 'acquired' });

    await expect(store.acquire('fourth', 'owner', 'print', 100)).rejects.toThrow(IdempotencyStoreFullError);
    await store.release('third', 'owner');
    expect(await store.acquire('fourth', 'owner', 'print', 100)).toEqual({ state: 'acquired' });
  });

  it('takes over the key of what is over, at the limit too', async () => {
    const store = await full();
    vi.advanceTimersByTime(100);

    expect(await store.acquire('lock', 'next', 'print', 100)).toEqual({ state: 'acquired' });
  });

  it('sees the end of a record that is nearer than those of all locks', async () => {
    const store = new InMemoryIdempotencyStore({ maxEntries: 1 });
    await store.acquire('key', 'owner', 'print', MINUTE);
    await expect(store.acquire('other', 'owner', 'print', 100)).rejects.toThrow(IdempotencyStoreFullError);
    await store.complete('key', 'owner', ANSWER, 10);
    vi.advanceTimersByTime(10);

    expect(await store.acquire('other', 'owner', 'print', 100)).toEqual({ state: 'acquired' });
  });

  it('does not search in vain: what is full until some moment is not looked through before', async () => {
    const store = new InMemoryIdempotencyStore({ maxEntries: 500 });
    for (let call = 0; call < 500; call++) await store.acquire(`key-${call}`, 'owner', 'print', 100);
    const searched = vi.spyOn(Map.prototype, Symbol.iterator);
    for (let call = 0; call < 400; call++) await store.acquire('more', 'owner', 'print', 100).catch(() => {});

    expect(searched).not.toHaveBeenCalled();
    searched.mockRestore();
  });

  it('is none, unless it is given', async () => {
    const store = new InMemoryIdempotencyStore();
    for (let call = 0; call < 20_000; call++) await store.acquire(`key-${call}`, 'owner', 'print', MINUTE);

    expect(store.size).toBe(20_000);
  });

  it.each([
    [{ maxEntries: 0 }, 'maxEntries: expected a whole number of at least 1, or Infinity, got 0.'],
    [{ maxEntries: -1 }, 'maxEntries: expected a whole number of at least 1, or Infinity, got -1.'],
    [{ maxEntries: 1.5 }, 'maxEntries: expected a whole number of at least 1, or Infinity, got 1.5.'],
    [
      { maxEntries: NaN },
      /^maxEntries: expected a whole number of at least 1, or Infinity, got NaN\. Does it come from/,
    ],
    [{ maxEntries: '100' }, 'maxEntries: expected a whole number of at least 1, or Infinity, got "100".'],
    [{ maxentries: 100 }, 'maxentries: unknown option. Did you mean "maxEntries"?'],
    [null, /^expected an options object, got null/],
    [100, /^expected an options object, got a number/],
  ])('is refused when it is %j', (options, message) => {
    expect(() => new InMemoryIdempotencyStore(options as InMemoryIdempotencyStoreOptions)).toThrow(TypeError);
    expect(() => new InMemoryIdempotencyStore(options as InMemoryIdempotencyStoreOptions)).toThrow(message);
  });
});

describe('The error of a full store', () => {
  it('is recognised across two copies of the package', () => {
    const brand = Symbol.for('nestjs.idempotency.store-full');
    const foreign = Object.assign(new Error('full'), { [brand]: true });

    expect(foreign).toBeInstanceOf(IdempotencyStoreFullError);
    expect(new Error('full')).not.toBeInstanceOf(IdempotencyStoreFullError);
  });
});

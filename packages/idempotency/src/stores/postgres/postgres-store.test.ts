import { PGlite } from '@electric-sql/pglite';
import { Logger } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PostgresIdempotencyStore, type PostgresIdempotencyStoreOptions } from './postgres-store.js';
import type { PostgresQueryable } from './queryable.js';
import { idempotencySchema } from './table.js';

const LOCK = 10_000;
const answer = { status: 201, headers: { location: '/orders/7' }, body: { id: 7 } };

let database: PGlite;
let key: string;

/** PostgreSQL as WebAssembly is compiled and set up first. */
const PATIENCE_MS = 60_000;

beforeAll(async () => {
  database = await PGlite.create();
  await database.exec(idempotencySchema());
}, PATIENCE_MS);
beforeEach(() => void (key = randomUUID()));
afterAll(() => database.close());

function storeOf(options: PostgresIdempotencyStoreOptions = { pruneEvery: false }): PostgresIdempotencyStore {
  return new PostgresIdempotencyStore(database, options);
}

/** By itself it would prune, now and then, with one of the first 500 calls. */
function storeOn(pool: PostgresQueryable): PostgresIdempotencyStore {
  return new PostgresIdempotencyStore(pool, { pruneEvery: false });
}

async function rowOf(aKey: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await database.query<Record<string, unknown>>('SELECT * FROM idempotency_keys WHERE key = $1', [
    aKey,
  ]);

  return rows[0];
}

describe('The PostgreSQL store', () => {
  it('needs one statement to take a key, and one to store the answer', async () => {
    const query = vi.spyOn(database, 'query');
    const store = storeOf();

    expect(await store.acquire(key, 'a', 'f', LOCK)).toEqual({ state: 'acquired' });
    expect(query).toHaveBeenCalledTimes(1);
    expect(await store.complete(key, 'a', answer, LOCK)).toBe(true);
    expect(query).toHaveBeenCalledTimes(2);
  });

  it('needs one statement to tell that a key is in use, or to give a stored answer, and writes nothing', async () => {
    const store = storeOf();
    await store.acquire(key, 'a', 'f', LOCK);
    const version = async () =>
      (await database.query('SELECT xmin::text, xmax::text, ctid::text FROM idempotency_keys WHERE key = $1', [key]))
        .rows;
    const locked = await version();
    const query = vi.spyOn(database, 'query');

    expect(await store.acquire(key, 'b', 'g', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'f' });
    expect(query).toHaveBeenCalledTimes(1);
    expect(await version()).toEqual(locked);

    await store.complete(key, 'a', answer, LOCK);
    const stored = await version();
    query.mockClear();
    expect(await store.acquire(key, 'b', 'g', LOCK)).toEqual({
      state: 'completed',
      fingerprint: 'f',
      response: answer,
    });
    expect(query).toHaveBeenCalledTimes(1);
    expect(await version()).toEqual(stored);
  });

  it('needs one statement to extend, and one to release', async () => {
    const store = storeOf();
    await store.acquire(key, 'a', 'f', LOCK);
    const query = vi.spyOn(database, 'query');

    expect(await store.extend(key, 'a', LOCK)).toBe(true);
    expect(await store.release(key, 'a')).toBe(true);
    expect(query).toHaveBeenCalledTimes(2);
    expect(await rowOf(key)).toBeUndefined();
  });

  it('names the owner of a lock, and no owner of an answer', async () => {
    const store = storeOf();
    await store.acquire(key, 'a', 'f', LOCK);
    const keyHash = createHash('sha256').update(key).digest('hex');
    expect(await rowOf(key)).toMatchObject({ key_hash: keyHash, key, fingerprint: 'f', owner: 'a', response: null });

    await store.complete(key, 'a', answer, LOCK);
    expect(await rowOf(key)).toMatchObject({ key_hash: keyHash, key, fingerprint: 'f', owner: null, response: answer });
  });

  it('lets a lock or an answer live for its time from now on, on the clock of the database', async () => {
    const store = storeOf();
    const week = 7 * 86_400_000;
    const left = async (): Promise<number> => {
      const { rows } = await database.query<{ left: string }>(
        'SELECT (expires_at - extract(epoch FROM clock_timestamp()) * 1000)::text AS left FROM idempotency_keys WHERE key = $1',
        [key],
      );
      return Number(rows[0]?.left);
    };
    const SLOW = 2_000;

    await store.acquire(key, 'a', 'f', LOCK);
    expect(await left()).toSatisfy((ms: number) => ms > LOCK - SLOW && ms <= LOCK + 1);
    await store.extend(key, 'a', 4 * week);
    expect(await left()).toSatisfy((ms: number) => ms > 4 * week - SLOW && ms <= 4 * week + 1);
    await store.complete(key, 'a', answer, 6 * week);
    expect(await left()).toSatisfy((ms: number) => ms > 6 * week - SLOW && ms <= 6 * week + 1);
  });

  it('has nothing where a time is over, although the row is still there', async () => {
    const store = storeOf();
    await store.acquire(key, 'a', 'f', LOCK);
    await database.query(
      'UPDATE idempotency_keys SET expires_at = floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint WHERE key = $1',
      [key],
    );

    expect(await store.extend(key, 'a', LOCK)).toBe(false);
    expect(await store.complete(key, 'a', answer, LOCK)).toBe(false);
    expect(await store.release(key, 'a')).toBe(false);
    expect(await rowOf(key)).toMatchObject({ owner: 'a', response: null });
    expect(await store.acquire(key, 'b', 'g', LOCK)).toEqual({ state: 'acquired' });
    expect(await store.complete(key, 'a', answer, LOCK)).toBe(false);
    expect(await rowOf(key)).toMatchObject({ fingerprint: 'g', owner: 'b', response: null });
  });

  it('forgets an answer whose key is taken anew', async () => {
    const store = storeOf();
    await store.acquire(key, 'a', 'f', LOCK);
    await store.complete(key, 'a', answer, 1);
    await sleep(5);

    expect(await store.acquire(key, 'b', 'g', LOCK)).toEqual({ state: 'acquired' });
    expect(await rowOf(key)).toMatchObject({ fingerprint: 'g', owner: 'b', response: null });
  });

  it.each([
    ['no body', undefined],
    ['null', null],
    ['NUL characters', 'a\0b\u0000'],
    ['halves of surrogate pairs', 'a\ud800b\udc00'],
    ['a NUL character and half of a pair as names', { 'a\0': 1, '\ud800': 2 }],
    ['text that looks like escapes', String.raw`\u0000 \ud800 \\ "`],
    ['emoji and other scripts', '😀 日本語 עברית é'],
    ['numbers at their limits', [Number.MAX_SAFE_INTEGER, 5e-324, 1.7976931348623157e308, 0.1]],
    ['names of prototypes', JSON.parse('{ "__proto__": { "a": 1 }, "constructor": 2 }')],
    ['the order of names, and names that are numbers', { b: 1, a: 2, 10: 3, 9: 4 }],
    ['100 kB of text', 'x'.repeat(100_000)],
  ])('gives back an answer as it was: %s', async (_, body) => {
    const store = storeOf();
    const response = { status: 200, headers: { 'x-list': ['1', '2'] }, ...(body === undefined ? {} : { body }) };
    await store.acquire(key, 'a', 'f', LOCK);
    await store.complete(key, 'a', response, LOCK);

    const found = await store.acquire(key, 'b', 'f', LOCK);
    expect(found).toStrictEqual({ state: 'completed', fingerprint: 'f', response });
    expect(JSON.stringify(found)).toContain(JSON.stringify(response));
  });

  it('keeps apart keys that differ in a character only', async () => {
    const store = storeOf();
    const keys = [
      'k',
      'K',
      'k ',
      ' k',
      'k\0',
      'k\\u0000',
      'k\ud800',
      'k\ud801',
      'k\ufffd',
      'é',
      'e\u0301',
      '',
      '__proto__',
    ];
    const long = ['x'.repeat(4_000), `${'x'.repeat(3_999)}y`];
    for (const one of [...keys, ...long]) {
      expect(await store.acquire(key + one, 'a', one.replaceAll(/[\0\ud800-\udfff]/g, '-'), LOCK)).toEqual({
        state: 'acquired',
      });
    }
    for (const one of [...keys, ...long]) expect(await store.release(key + one, 'a')).toBe(true);
  });

  it('shows a key as JSON escapes it, which most keys do not need', async () => {
    const store = storeOf();
    await store.acquire(`user%3A7:${key}`, 'a', 'f', LOCK);
    await store.acquire(`${key}\0"\ud800`, 'a', 'f', LOCK);

    expect(await rowOf(`user%3A7:${key}`)).toBeDefined();
    expect(await rowOf(`${key}${String.raw`\u0000\"\ud800`}`)).toBeDefined();
  });

  it('rejects, and throws nothing, when the pool fails', async () => {
    const error = new Error('ended');
    const fails = storeOn({ query: () => Promise.reject(error) });
    const throws = storeOn({
      query() {
        throw error;
      },
    });
    for (const store of [fails, throws]) {
      const calls = [
        store.acquire('k', 'o', 'f', 1),
        store.complete('k', 'o', answer, 1),
        store.release('k', 'o'),
        store.extend('k', 'o', 1),
        store.prune(),
        store.ensureSchema(),
      ];
      for (const call of calls) await expect(call).rejects.toBe(error);
    }
  });

  it('rejects an answer that JSON has no words for, and leaves the lock', async () => {
    const store = storeOf();
    await store.acquire(key, 'a', 'f', LOCK);

    await expect(store.complete(key, 'a', { ...answer, body: 1n }, LOCK)).rejects.toThrow(TypeError);
    expect(await store.acquire(key, 'b', 'g', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'f' });
  });

  it.each([
    [[{ state: 'done' }]],
    [[{ state: 'in-flight', fingerprint: null }]],
    [[{ state: 'completed', fingerprint: 'f', response: { status: 200 } }]],
  ])('refuses a row that is no record of its own: %j', async (rows) => {
    const store = storeOn({ query: () => Promise.resolve({ rows }) });

    await expect(store.acquire('k', 'o', 'f', LOCK)).rejects.toThrow(
      'PostgreSQL answered with a row that is no idempotency',
    );
  });

  it('hands on an answer that is gone as one that nobody can read, and not as an error of the store', async () => {
    const store = storeOf();
    await store.acquire(key, 'a', 'f', LOCK);
    await store.complete(key, 'a', answer, LOCK);
    await database.query('UPDATE idempotency_keys SET response = NULL WHERE key = $1', [key]);

    expect(await store.acquire(key, 'b', 'f', LOCK)).toEqual({ state: 'completed', fingerprint: 'f', response: null });
  });

  it('asks again, under the lock of the row, where somebody has come in between', async () => {
    const query = vi.fn();
    query.mockResolvedValueOnce({ rows: [] });
    query.mockResolvedValueOnce({ rows: [{ state: 'in-flight', fingerprint: 'f', response: null, left: '1' }] });
    const store = storeOn({ query });

    expect(await store.acquire('k', 'o', 'g', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'f' });
    expect(query).toHaveBeenCalledTimes(2);
  });

  it('extends a lock that has run for half of its time when it is got, and takes it anew where it is over', async () => {
    const query = vi.fn();
    const got = (left: number) => ({
      rows: [{ state: 'acquired', fingerprint: null, response: null, left: String(left) }],
    });
    query.mockResolvedValueOnce(got(LOCK / 2 - 1)).mockResolvedValueOnce({ rows: [] });
    query.mockResolvedValueOnce(got(LOCK / 2 - 1)).mockResolvedValueOnce({ rows: [{ done: 'yes' }] });
    const store = storeOn({ query });

    expect(await store.acquire('k', 'o', 'g', LOCK)).toEqual({ state: 'acquired' });
    expect(query).toHaveBeenCalledTimes(4);

    query.mockResolvedValueOnce(got(LOCK / 2));
    expect(await store.acquire('k', 'o', 'g', LOCK)).toEqual({ state: 'acquired' });
    expect(query).toHaveBeenCalledTimes(5);
  });

  it('gives up on a lock that is over before it is got, each time', async () => {
    const query = vi.fn((text: string) =>
      Promise.resolve({ rows: text.includes('INSERT') ? [{ state: 'acquired', left: '-1' }] : [] }),
    );
    const store = storeOn({ query });

    await expect(store.acquire('k', 'o', 'g', 3)).rejects.toThrow(/a lockTtl of 3ms is too short for this database\.$/);
    expect(query).toHaveBeenCalledTimes(10);
  });
});

describe('The second statement of the PostgreSQL store', () => {
  /** As if somebody had come in between whenever the first one is sent. */
  const second = (): PostgresIdempotencyStore =>
    storeOn({
      query: (text, values) =>
        text.includes('alive') ? Promise.resolve({ rows: [] }) : database.query<unknown>(text, values),
    });

  it('takes a key that is free, and one whose time is over', async () => {
    const store = second();

    expect(await store.acquire(key, 'a', 'f', LOCK)).toEqual({ state: 'acquired' });
    expect(await store.acquire(key, 'a', 'f', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'f' });
    expect(await store.extend(key, 'a', 1)).toBe(true);
    await sleep(5);
    expect(await store.acquire(key, 'b', 'g', LOCK)).toEqual({ state: 'acquired' });
    expect(await storeOf().acquire(key, 'c', 'h', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'g' });
    expect(await store.complete(key, 'b', answer, 1)).toBe(true);
    await sleep(5);
    expect(await store.acquire(key, 'c', 'h', LOCK)).toEqual({ state: 'acquired' });
    expect(await store.extend(key, 'b', LOCK)).toBe(false);
    expect(await store.complete(key, 'c', answer, LOCK)).toBe(true);
  });

  it('tells of a lock and of an answer, and leaves them as they are', async () => {
    const store = second();
    await storeOf().acquire(key, 'a', 'f', LOCK);
    const locked = await rowOf(key);

    expect(await store.acquire(key, 'a', 'g', 1)).toEqual({ state: 'in-flight', fingerprint: 'f' });
    expect(await store.acquire(key, 'b', 'g', 1)).toEqual({ state: 'in-flight', fingerprint: 'f' });
    expect(await rowOf(key)).toEqual(locked);
    await storeOf().complete(key, 'a', answer, LOCK);
    const stored = await rowOf(key);
    expect(await store.acquire(key, 'b', 'g', 1)).toEqual({ state: 'completed', fingerprint: 'f', response: answer });
    expect(await rowOf(key)).toEqual(stored);
  });
});

describe('Pruning of the PostgreSQL store', () => {
  beforeEach(() => database.exec('DELETE FROM idempotency_keys'));

  async function expired(count: number): Promise<void> {
    await database.query(
      `INSERT INTO idempotency_keys SELECT 'hash ' || n, 'key ' || n, 'f', 'o', NULL, n FROM generate_series(1, $1) AS n`,
      [count],
    );
  }
  const rows = async (): Promise<unknown[]> =>
    (await database.query<{ key: string }>('SELECT key FROM idempotency_keys ORDER BY expires_at')).rows.map(
      (row) => row.key,
    );

  it('deletes what is over, the oldest first, as much as it is told, and nothing alive', async () => {
    const store = storeOf();
    await store.acquire(key, 'a', 'f', LOCK);
    await expired(5);

    expect(await store.prune(3)).toBe(3);
    expect(await rows()).toEqual(['key 4', 'key 5', key]);
    expect(await store.prune()).toBe(2);
    expect(await store.prune()).toBe(0);
    expect(await rows()).toEqual([key]);
  });

  it('deletes 1,000 unless it is told', async () => {
    await expired(1_001);

    expect(await storeOf().prune()).toBe(1_000);
    expect(await storeOf().prune()).toBe(1);
  });

  it('happens by itself once in so many calls, twice as much as they can have added', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999);
    const store = storeOf({ pruneEvery: 3 });
    await expired(10);
    await store.acquire(key, 'a', 'f', LOCK);
    await store.acquire(key, 'a', 'f', LOCK);
    await sleep(20);
    expect(await rows()).toHaveLength(11);

    await store.acquire(key, 'a', 'f', LOCK);
    await vi.waitFor(async () => expect(await rows()).toEqual(['key 7', 'key 8', 'key 9', 'key 10', key]));
  });

  it('happens by itself after a part of that already, so that processes which live shortly do it as well', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.2);
    const store = storeOf();
    const often = storeOf({});
    await expired(10);
    for (let call = 1; call < 100; call += 1) await often.acquire(key, 'a', 'f', LOCK);
    expect(await rows()).toHaveLength(11);

    await often.acquire(key, 'a', 'f', LOCK);
    await vi.waitFor(async () => expect(await rows()).toEqual([key]));
    await store.release(key, 'a');
  });

  it('comes after the call that it is due with, on a single connection', async () => {
    const query = vi.fn((text: string) =>
      Promise.resolve({ rows: text.includes('pruned') ? [{ pruned: '0' }] : [{ state: 'acquired', left: `${LOCK}` }] }),
    );
    await new PostgresIdempotencyStore({ query }, { pruneEvery: 1 }).acquire('k', 'o', 'f', LOCK);

    expect(query.mock.calls.map(([text]) => text.includes('pruned'))).toEqual([false, true]);
  });

  it('never happens twice at once, nor holds up a call, nor fails one', async () => {
    const warn = vi.spyOn(Logger.prototype, 'warn').mockReturnValue();
    let fail!: (reason: Error) => void;
    const prunes = vi.fn(() => new Promise<never>((_, reject) => (fail = reject)));
    const store = new PostgresIdempotencyStore(
      {
        query: (text, values) => (text.includes('pruned') ? prunes() : database.query<unknown>(text, values)),
      },
      { pruneEvery: 1 },
    );

    expect(await store.acquire(key, 'a', 'f', LOCK)).toEqual({ state: 'acquired' });
    for (let call = 0; call < 5; call += 1) await store.acquire(key, 'a', 'f', LOCK);
    expect(prunes).toHaveBeenCalledTimes(1);

    fail(new Error('the connection was closed'));
    await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(1));
    expect(warn).toHaveBeenCalledWith('Expired idempotency keys were not pruned: Error: the connection was closed');
    await store.acquire(key, 'a', 'f', LOCK);
    expect(prunes).toHaveBeenCalledTimes(2);
  });

  it('does not happen by itself where something else does it', async () => {
    const query = vi.fn((_text: string) => Promise.resolve({ rows: [{ state: 'in-flight', fingerprint: 'f' }] }));
    const store = new PostgresIdempotencyStore({ query }, { pruneEvery: false });
    for (let call = 0; call < 2_000; call += 1) await store.acquire('k', 'o', 'f', LOCK);

    expect(query).toHaveBeenCalledTimes(2_000);
    expect(query.mock.calls.some(([text]) => text.includes('pruned'))).toBe(false);
  });

  it.each([0, -1, 1.5, NaN, '7', null])('refuses a limit of %s', async (limit) => {
    await expect(storeOf().prune(limit as number)).rejects.toThrow(/^limit: expected a whole number of at least 1/);
  });
});

describe('The table of the PostgreSQL store', () => {
  it('is made by ensureSchema() where it is missing, with its index, under the name and in the schema that it is given', async () => {
    await database.exec('CREATE SCHEMA "Shop"');
    const store = storeOf({ table: 'order-keys', schema: 'Shop' });
    await store.ensureSchema();

    expect(await store.acquire('k', 'o', 'f', LOCK)).toEqual({ state: 'acquired' });
    expect((await database.query('SELECT key FROM "Shop"."order-keys"')).rows).toEqual([{ key: 'k' }]);
    const { rows } = await database.query(`SELECT indexname FROM pg_indexes WHERE schemaname = 'Shop' ORDER BY 1`);
    expect(rows).toEqual([{ indexname: 'order-keys_expires_at_idx' }, { indexname: 'order-keys_pkey' }]);
  });

  it('is looked at only, where it is complete', async () => {
    const store = storeOf({ table: 'complete' });
    await store.ensureSchema();
    const query = vi.spyOn(database, 'query');
    await store.ensureSchema();

    expect(query).toHaveBeenCalledTimes(1);
    expect(query.mock.calls[0]?.[0]).not.toMatch(/create/i);
  });

  it('may have its index under another name', async () => {
    const schema = idempotencySchema({ table: 'indexed' }).replace('"indexed_expires_at_idx"', 'by_expiry');
    await database.exec(schema);
    await storeOf({ table: 'indexed' }).ensureSchema();

    const { rows } = await database.query(`SELECT indexname FROM pg_indexes WHERE tablename = 'indexed' ORDER BY 1`);
    expect(rows).toEqual([{ indexname: 'by_expiry' }, { indexname: 'indexed_pkey' }]);
  });

  it('gets the index that it lacks', async () => {
    await database.exec(idempotencySchema({ table: 'bare' }).replace(/CREATE INDEX[^;]*;/, ''));
    await storeOf({ table: 'bare' }).ensureSchema();

    const { rows } = await database.query(`SELECT indexname FROM pg_indexes WHERE tablename = 'bare' ORDER BY 1`);
    expect(rows).toEqual([{ indexname: 'bare_expires_at_idx' }, { indexname: 'bare_pkey' }]);
  });

  it('is refused when it is another one', async () => {
    await database.exec('CREATE TABLE other (key text, expires_at bigint); CREATE INDEX ON other (expires_at)');

    await expect(storeOf({ table: 'other' }).ensureSchema()).rejects.toThrow(
      /^The table "other" is not one of idempotency keys: it lacks key_hash, fingerprint, owner, response\./,
    );
  });

  it('is refused in a database whose encoding has no place for some characters', async () => {
    const columns = 'key_hash key fingerprint owner response expires_at';
    const query = vi.fn().mockResolvedValue({ rows: [{ encoding: 'LATIN1', columns, indexed: 'yes' }] });

    await expect(new PostgresIdempotencyStore({ query }).ensureSchema()).rejects.toThrow(
      'The database has the encoding LATIN1. Answers may hold any character: use one with UTF8.',
    );
  });
});

describe('The options of the PostgreSQL store', () => {
  it.each([undefined, null, 'postgres://localhost', {}, { query: 'SELECT' }, class Pool {}])(
    'include a pool, which %o is not',
    (pool) => {
      expect(() => new PostgresIdempotencyStore(pool as never)).toThrow(
        /^pool: expected an object with query\(text, values\), such as a Pool of pg or a PGlite, got /,
      );
    },
  );

  it('are refused without a password that stands in a connection string', () => {
    const given = 'postgres://shop:secret@localhost';

    expect(() => new PostgresIdempotencyStore(given as never)).toThrow(/got a string\.$/);
    expect(() => storeOf(given as never)).toThrow(/^expected an options object, got a string\./);
    expect(() => storeOf({ connectionString: given } as never)).toThrow(/^connectionString: unknown option\. Known/);
  });

  it.each([
    [{ tabel: 'x' }, 'tabel: unknown option. Did you mean "table"?'],
    [{ table: 'a.b' }, 'table: expected a name'],
    [{ schema: 'a b' }, 'schema: expected a name'],
    [{ lockTimeout: 0 }, 'lockTimeout: Invalid duration 0'],
    [{ lockTimeout: '5 s' }, 'lockTimeout: Invalid duration "5 s"'],
    [{ lockTimeout: NaN }, 'lockTimeout: Invalid duration NaN'],
    [{ pruneEvery: 0 }, 'pruneEvery: expected a whole number of at least 1, got 0'],
    [{ pruneEvery: true }, 'pruneEvery: expected a whole number of at least 1, got true'],
    [{ pruneEvery: Number.NaN }, 'pruneEvery: expected a whole number of at least 1, got NaN'],
  ])('are checked when it is made: %j', (options, message) => {
    expect(() => storeOf(options as PostgresIdempotencyStoreOptions)).toThrow(message);
  });

  it.each([
    [0.2, '1'],
    ['1.5s', '1500'],
    ['30d', '2147483647'],
    [undefined, '5000'],
  ] as const)('set the time for which a row is waited for: %s is %sms', async (lockTimeout, text) => {
    const query = vi.fn().mockResolvedValue({ rows: [] });
    await new PostgresIdempotencyStore({ query }, { lockTimeout }).release('k', 'o');

    expect(query.mock.calls[0]?.[0]).toContain(`set_config('lock_timeout', '${text}', true)`);
  });

  it('do not hold for what joins a transaction, whose connection is checked as well', async () => {
    const store = storeOf();
    const query = vi.fn().mockResolvedValue({ rows: [] });
    await store.joining({ query }).release('k', 'o');

    expect(query.mock.calls[0]?.[0]).not.toContain('set_config');
    expect(() => store.joining(undefined as never)).toThrow(/^connection: expected an object with query/);
  });

  it('may be undefined, each of them', () => {
    expect(() =>
      storeOf({ table: undefined, schema: undefined, lockTimeout: undefined, pruneEvery: undefined }),
    ).not.toThrow();
  });
});

import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { describeWith } from '../../../../tools/services/services.js';
import { ownDatabase } from '../fixtures/postgres.js';

const LOCK = 10_000;
const answer = { status: 200, headers: {}, body: 'done' };

describeWith('postgres', 'The table of the PostgreSQL store', () => {
  const database = ownDatabase();

  it('is made once by 16 processes that start at the same moment, in sessions of any isolation level', async () => {
    for (const level of ['read committed', 'repeatable read', 'serializable']) {
      const table = `made_at_${level.replace(' ', '_')}`;
      const pool = database.pool({ options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}` });
      // Connections are there, so that nobody is first because of them.
      await Promise.all(Array.from({ length: 16 }, () => pool.query('SELECT pg_sleep(0.05)')));
      await Promise.all(Array.from({ length: 16 }, () => new PostgresIdempotencyStore(pool, { table }).ensureSchema()));

      const store = new PostgresIdempotencyStore(pool, { table });
      expect(await store.acquire('k', 'o', 'f', LOCK)).toEqual({ state: 'acquired' });
    }
    const { rows } = await database.admin.query(`SELECT indexname FROM pg_indexes WHERE tablename LIKE 'made_at_%'`);
    expect(rows).toHaveLength(6);
  });

  it('is not waited for when it is there and in use', async () => {
    const store = new PostgresIdempotencyStore(database.admin);
    await store.ensureSchema();
    const client = await database.pool().connect();
    try {
      await client.query('BEGIN');
      await client.query('LOCK TABLE idempotency_keys IN ROW EXCLUSIVE MODE');

      expect(await Promise.race([store.ensureSchema(), sleep(2_000, 'waits')])).toBeUndefined();
    } finally {
      client.release(true);
    }
  });

  it('cannot be made in a schema that is not there, and the server says so', async () => {
    const store = new PostgresIdempotencyStore(database.admin, { schema: 'nowhere' });

    await expect(store.ensureSchema()).rejects.toThrow('schema "nowhere" does not exist');
  });
});

describeWith('postgres', 'The PostgreSQL store on a server', () => {
  const database = ownDatabase();
  let store: PostgresIdempotencyStore;
  let key: string;

  beforeAll(() => new PostgresIdempotencyStore(database.admin).ensureSchema());
  beforeEach(() => {
    store = new PostgresIdempotencyStore(database.admin, { pruneEvery: false });
    key = randomUUID();
  });

  const leftOf = async (aKey: string): Promise<number> => {
    const { rows } = await database.admin.query(
      'SELECT (expires_at - extract(epoch FROM clock_timestamp()) * 1000)::float8 AS left FROM idempotency_keys WHERE key = $1',
      [aKey],
    );
    return rows[0].left;
  };

  it('works on a single connection too, one call after the other', async () => {
    const client = new Client(database.url);
    await client.connect();
    const single = new PostgresIdempotencyStore(client);

    expect(await single.acquire(key, 'a', 'f', LOCK)).toEqual({ state: 'acquired' });
    expect(await single.complete(key, 'a', answer, LOCK)).toBe(true);
    expect(await single.acquire(key, 'b', 'f', LOCK)).toEqual({
      state: 'completed',
      fingerprint: 'f',
      response: answer,
    });
    await client.end();
  });

  it('counts time by the moment, not by the beginning of the transaction', async () => {
    const client = new Client(database.url);
    await client.connect();
    await client.query('BEGIN');
    await store.acquire(key, 'a', 'f', 200);
    await sleep(250);
    const joined = store.joining(client);

    expect(await joined.extend(key, 'a', LOCK)).toBe(false);
    expect(await joined.acquire(key, 'b', 'g', LOCK)).toEqual({ state: 'acquired' });
    await client.query('COMMIT');
    expect(await leftOf(key)).toBeGreaterThan(LOCK / 2);
    await client.end();
  });

  it('lets an acquire() reject whose connection dies, and the lock behind it can be released or runs out', async () => {
    const pool = database.pool({ max: 1 });
    const mortal = new PostgresIdempotencyStore(pool);
    const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const blocker = await database.admin.connect();
    await blocker.query('BEGIN');
    await store.joining(blocker).acquire(key, 'z', 'f', LOCK);

    const acquired = mortal.acquire(key, 'a', 'f', LOCK);
    const rejected = expect(acquired).rejects.toThrow(/terminat/);
    await sleep(100);
    await database.admin.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    await rejected;
    await blocker.query('ROLLBACK');
    blocker.release();

    expect(await mortal.release(key, 'a')).toBe(false);
    expect(await mortal.acquire(key, 'b', 'f', LOCK)).toEqual({ state: 'acquired' });
  });

  it('rejects when nobody answers', async () => {
    const pool = database.pool({ connectionString: 'postgres://postgres@127.0.0.1:1/nowhere' });
    const lost = new PostgresIdempotencyStore(pool);

    await expect(lost.acquire(key, 'a', 'f', LOCK)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(lost.complete(key, 'a', answer, LOCK)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('prunes without waiting for rows that somebody is writing to, which stay', async () => {
    await database.admin.query('TRUNCATE idempotency_keys');
    for (const name of ['a', 'b', 'c']) await store.acquire(name, 'o', 'f', 1);
    await sleep(5);
    const client = await database.pool().connect();
    await client.query('BEGIN');
    await store.joining(client).acquire('b', 'p', 'g', LOCK);

    expect(await store.prune()).toBe(2);
    await client.query('COMMIT');
    client.release();
    expect(await store.prune()).toBe(0);
    expect(await store.acquire('b', 'q', 'h', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'g' });
  });

  it('prunes in many processes at once, and never what was just taken over', async () => {
    const pool = database.pool();
    const many = new PostgresIdempotencyStore(pool, { pruneEvery: 1 });
    const keys = Array.from({ length: 300 }, (_, number) => `${key} ${number}`);
    await database.admin.query('TRUNCATE idempotency_keys');
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(keys.map((one) => many.acquire(one, `owner ${round}`, 'f', round < 3 ? 1 : LOCK)));
      await sleep(5);
      if (round < 3) continue;

      await Promise.all(Array.from({ length: 8 }, () => many.prune(50)));
      expect(await Promise.all(keys.map((one) => many.complete(one, 'owner 3', answer, LOCK)))).toEqual(
        keys.map(() => true),
      );
    }
  });

  it('finds what is over by its index, without reading the table', async () => {
    const client = await database.pool({ max: 1 }).connect();
    await client.query('SET enable_seqscan = off');
    const { text, values } = await new Promise<{ text: string; values: unknown[] }>((resolve) => {
      const spy = {
        query: (sql: string, parameters: unknown[] = []) => {
          resolve({ text: sql, values: parameters });
          return Promise.resolve({ rows: [{ pruned: '0' }] });
        },
      };
      void new PostgresIdempotencyStore(spy).prune(10);
    });
    const { rows } = await client.query(`EXPLAIN ${text.replaceAll('$1', String(values[0]))}`);
    client.release();

    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toMatch(
      /Index Scan using idempotency_keys_expires_at_idx[^]*Index Cond: \(expires_at <= /,
    );
  });
});

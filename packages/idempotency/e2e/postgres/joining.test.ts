import { PGlite } from '@electric-sql/pglite';
import { PostgresIdempotencyStore, type PostgresQueryable } from '@nestjs/idempotency/postgres';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describeWith } from '../../../../tools/services/services.js';
import { ownDatabase } from '../fixtures/postgres.js';

const LOCK = 10_000;
const TTL = 60_000;
const answer = { status: 201, headers: {}, body: { charged: 7 } };

describeWith('postgres', 'A store that joins the transaction of its caller', () => {
  const database = ownDatabase();
  let pool: Pool;
  let store: PostgresIdempotencyStore;
  let key: string;
  let client: PoolClient;

  beforeAll(async () => {
    await new PostgresIdempotencyStore(database.admin).ensureSchema();
    await database.admin.query('CREATE TABLE charges (key text NOT NULL)');
  });
  beforeEach(async () => {
    pool = database.pool();
    store = new PostgresIdempotencyStore(pool);
    key = randomUUID();
    client = await pool.connect();
  });
  // Before the pool is ended, which waits for it.
  afterEach(() => client.release(true));

  async function chargeAndComplete(owner: string): Promise<boolean> {
    await client.query('BEGIN');
    await client.query('INSERT INTO charges VALUES ($1)', [key]);

    return store.joining(client).complete(key, owner, answer, TTL);
  }

  async function charges(): Promise<number> {
    const { rows } = await database.admin.query('SELECT FROM charges WHERE key = $1', [key]);

    return rows.length;
  }

  it('shows the answer together with what was done, and the lock until then, without waiting', async () => {
    await store.acquire(key, 'a', 'f', LOCK);
    expect(await chargeAndComplete('a')).toBe(true);

    expect(await store.acquire(key, 'b', 'f', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'f' });
    expect(await charges()).toBe(0);
    await client.query('COMMIT');
    expect(await store.acquire(key, 'b', 'f', LOCK)).toEqual({
      state: 'completed',
      fingerprint: 'f',
      response: answer,
    });
    expect(await charges()).toBe(1);
  });

  it('leaves the lock as it was after ROLLBACK, for its owner to free', async () => {
    await store.acquire(key, 'a', 'f', LOCK);
    await chargeAndComplete('a');
    await client.query('ROLLBACK');

    expect(await store.acquire(key, 'b', 'f', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'f' });
    expect(await store.release(key, 'a')).toBe(true);
    expect(await store.acquire(key, 'b', 'f', LOCK)).toEqual({ state: 'acquired' });
    expect(await charges()).toBe(0);
  });

  it('answers false when the lock was lost, so that the caller rolls back', async () => {
    await store.acquire(key, 'a', 'f', 1);
    await sleep(5);
    await store.acquire(key, 'b', 'f', LOCK);

    expect(await chargeAndComplete('a')).toBe(false);
    await client.query('ROLLBACK');
    expect(await charges()).toBe(0);
    expect(await store.complete(key, 'b', answer, TTL)).toBe(true);
  });

  it('keeps the key from everybody until COMMIT, also when the time of the lock is over', async () => {
    await store.acquire(key, 'a', 'f', 1_000);
    expect(await chargeAndComplete('a')).toBe(true);
    await sleep(1_000);
    const others = Promise.all(Array.from({ length: 5 }, (_, caller) => store.acquire(key, `b${caller}`, 'f', LOCK)));
    expect(await Promise.race([others, sleep(100)])).toBeUndefined();

    await client.query('COMMIT');
    const completed = { state: 'completed', fingerprint: 'f', response: answer };
    expect(await others).toEqual(Array(5).fill(completed));
  });

  it('has others wait no longer than lockTimeout, on connections that keep their settings', async () => {
    const impatient = new PostgresIdempotencyStore(database.pool({ max: 1 }), { lockTimeout: '100ms' });
    await store.acquire(key, 'a', 'f', 2_000);
    await chargeAndComplete('a');
    const notAvailable = { code: '55P03' };

    await expect(impatient.extend(key, 'a', LOCK)).rejects.toMatchObject(notAvailable);
    await expect(impatient.release(key, 'a')).rejects.toMatchObject(notAvailable);
    await expect(impatient.complete(key, 'a', answer, TTL)).rejects.toMatchObject(notAvailable);
    await sleep(2_000);
    await expect(impatient.acquire(key, 'b', 'f', LOCK)).rejects.toMatchObject(notAvailable);
    expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '0' }]);
  });

  it('leaves no setting behind on a connection', async () => {
    const single = database.pool({ max: 1 });
    await new PostgresIdempotencyStore(single).acquire(key, 'a', 'f', LOCK);

    expect((await single.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '0' }]);
  });

  it('makes a release wait for the end of the transaction: after COMMIT it frees nothing', async () => {
    await store.acquire(key, 'a', 'f', LOCK);
    await chargeAndComplete('a');
    const released = store.release(key, 'a');
    expect(await Promise.race([released, sleep(50)])).toBeUndefined();
    await client.query('COMMIT');

    expect(await released).toBe(false);
    expect(await store.acquire(key, 'b', 'f', LOCK)).toMatchObject({ state: 'completed' });
  });

  it('makes a release wait for the end of the transaction: after ROLLBACK it frees the key', async () => {
    await store.acquire(key, 'a', 'f', LOCK);
    await chargeAndComplete('a');
    const released = store.release(key, 'a');
    await client.query('ROLLBACK');

    expect(await released).toBe(true);
    expect(await store.acquire(key, 'b', 'f', LOCK)).toEqual({ state: 'acquired' });
  });

  it('sends a statement once: a transaction that cannot be serialized starts anew, as a whole', async () => {
    await store.acquire(key, 'a', 'f', LOCK);
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query('INSERT INTO charges VALUES ($1)', [key]);
    await store.extend(key, 'a', LOCK);

    await expect(store.joining(client).complete(key, 'a', answer, TTL)).rejects.toMatchObject({ code: '40001' });
    await client.query('ROLLBACK');
    expect(await chargeAndComplete('a')).toBe(true);
    await client.query('COMMIT');
    expect(await charges()).toBe(1);
  });

  it('can take the lock in there too: others wait, and find the answer after COMMIT', async () => {
    await client.query('BEGIN');
    const joined = store.joining(client);
    expect(await joined.acquire(key, 'a', 'f', LOCK)).toEqual({ state: 'acquired' });
    expect(await joined.acquire(key, 'a', 'f', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'f' });
    const others = Promise.all(Array.from({ length: 5 }, (_, caller) => store.acquire(key, `b${caller}`, 'g', LOCK)));
    expect(await Promise.race([others, sleep(100)])).toBeUndefined();
    expect(await joined.extend(key, 'a', LOCK)).toBe(true);
    expect(await joined.complete(key, 'a', answer, TTL)).toBe(true);
    await client.query('COMMIT');

    const completed = { state: 'completed', fingerprint: 'f', response: answer };
    expect(await others).toEqual(Array(5).fill(completed));
  });

  it('can take the lock in there too: ROLLBACK frees the key at once, for one of those who wait', async () => {
    await client.query('BEGIN');
    await store.joining(client).acquire(key, 'a', 'f', LOCK);
    const others = Promise.all(Array.from({ length: 5 }, (_, caller) => store.acquire(key, `b${caller}`, 'g', LOCK)));
    await sleep(50);
    await client.query('ROLLBACK');

    const states = (await others).map(({ state }) => state);
    expect(states.toSorted()).toEqual(['acquired', ...Array<string>(4).fill('in-flight')]);
  });

  it('gives a lock that had to wait for a transaction its whole time, also when that is over by then', async () => {
    for (const lockTtl of [1_000, 500]) {
      key = randomUUID();
      await client.query('BEGIN');
      await store.joining(client).acquire(key, 'a', 'f', LOCK);
      const waiting = store.acquire(key, 'b', 'g', lockTtl);
      await sleep(700);
      await client.query('ROLLBACK');

      expect(await waiting).toEqual({ state: 'acquired' });
      const { rows } = await database.admin.query(
        'SELECT (expires_at - extract(epoch FROM clock_timestamp()) * 1000)::float8 AS left FROM idempotency_keys WHERE key = $1',
        [key],
      );
      expect(rows[0].left).toBeGreaterThan(lockTtl / 2);
    }
  });
});

describeWith('postgres', 'Effects and records, in one transaction', () => {
  const database = ownDatabase();
  let store: PostgresIdempotencyStore;
  let pool: Pool;

  beforeAll(async () => {
    await new PostgresIdempotencyStore(database.admin).ensureSchema();
    await database.admin.query('CREATE TABLE charges (key text NOT NULL)');
  });
  beforeEach(() => {
    pool = database.pool();
    store = new PostgresIdempotencyStore(pool);
  });

  const POINTS = ['BEGIN', 'effect', 'complete', 'COMMIT'] as const;
  type Point = (typeof POINTS)[number];
  interface Death {
    /** The step with which the connection is killed. */
    readonly at: Point;
    /** Whether the process dies too: then nobody frees the key. */
    readonly ofProcess: boolean;
    /** Whether the step is sent before the connection is killed. */
    readonly meanwhile: boolean;
  }

  const kill = (pid: number): Promise<unknown> => database.admin.query('SELECT pg_terminate_backend($1)', [pid]);

  /** What a service does with a key, up to where it dies. */
  async function charge(key: string, lockTtl: number, death?: Death): Promise<string> {
    const owner = randomUUID();
    const found = await store.acquire(key, owner, 'f', lockTtl);
    if (found.state !== 'acquired') return found.state;

    const client = await pool.connect();
    client.on('error', () => {});
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const step = async <T>(point: Point, work: () => Promise<T>): Promise<T> => {
      if (death?.at !== point) return work();
      if (!death.meanwhile) await kill(rows[0]?.pid ?? 0);
      const [done] = await Promise.all([work(), death.meanwhile ? kill(rows[0]?.pid ?? 0) : undefined]);
      return done;
    };
    try {
      await step('BEGIN', () => client.query('BEGIN'));
      await step('effect', () => client.query('INSERT INTO charges VALUES ($1)', [key]));
      const stored = await step('complete', () => store.joining(client).complete(key, owner, answer, TTL));
      if (!stored) throw new Error('The lock was lost');
      await step('COMMIT', () => client.query('COMMIT'));
      // What is being killed is of no use to the next one.
      client.release(death !== undefined);
      return 'charged';
    } catch {
      // Without a connection there is nothing to roll back.
      client.release(true);
      if (death?.ofProcess !== true) await store.release(key, owner);
      return 'failed';
    }
  }

  async function chargeUntilDone(key: string, lockTtl: number): Promise<void> {
    for (;;) {
      const state = await charge(key, lockTtl);
      if (state === 'charged' || state === 'completed') return;
      await sleep(20);
    }
  }

  async function counts(): Promise<unknown> {
    const { rows } = await database.admin.query(
      `SELECT keys.key, owner, (SELECT count(*) FROM charges WHERE charges.key = keys.key)::int AS effects
       FROM idempotency_keys AS keys ORDER BY effects DESC`,
    );
    return rows;
  }

  for (const at of POINTS) {
    for (const meanwhile of [false, true]) {
      for (const ofProcess of [false, true]) {
        const when = meanwhile ? 'while' : 'before';
        const who = ofProcess ? 'with its process' : 'and its process lives on';

        it(`are one each when the connection is killed ${when} ${at} is sent, ${who}`, async () => {
          const key = randomUUID();
          await charge(key, ofProcess ? 300 : LOCK, { at, ofProcess, meanwhile });
          await chargeUntilDone(key, LOCK);

          expect(await charge(key, LOCK)).toBe('completed');
          expect(await counts()).toContainEqual({ key, owner: null, effects: 1 });
        });
      }
    }
  }

  it('are one each for 60 keys, each wanted by three callers whose connections are killed wherever they are', async () => {
    await database.admin.query('TRUNCATE idempotency_keys, charges');
    let seed = 20_261_130;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * below);
    };
    const keys = Array.from({ length: 60 }, (_, number) => `key ${number}`);
    const deaths = keys.flatMap((key) =>
      Array.from({ length: 3 }, () => ({
        key,
        at: POINTS[random(4)] as Point,
        ofProcess: random(2) === 0,
        meanwhile: random(2) === 0,
      })),
    );
    const callers = Array.from({ length: 6 }, async (_, caller) => {
      for (const { key, ...death } of deaths.filter((_death, index) => index % 6 === caller)) {
        await charge(key, 200, death);
        await chargeUntilDone(key, 200);
      }
    });
    await Promise.all(callers);

    expect(await counts()).toEqual(keys.map(() => ({ key: expect.any(String), owner: null, effects: 1 })));
    expect((await database.admin.query('SELECT FROM charges')).rows).toHaveLength(60);
  }, 60_000);
});

describe('A store that joins a transaction of PGlite', () => {
  it('commits and rolls back with it', async () => {
    const database = await PGlite.create();
    const store = new PostgresIdempotencyStore(database);
    await store.ensureSchema();
    await database.exec('CREATE TABLE charges (key text)');
    const charge = (transaction: PostgresQueryable): Promise<boolean> =>
      transaction
        .query('INSERT INTO charges VALUES ($1)', ['k'])
        .then(() => store.joining(transaction).complete('k', 'a', answer, TTL));

    await store.acquire('k', 'a', 'f', LOCK);
    await expect(
      database.transaction(async (transaction) => {
        expect(await charge(transaction)).toBe(true);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(await store.acquire('k', 'b', 'f', LOCK)).toEqual({ state: 'in-flight', fingerprint: 'f' });

    await database.transaction(charge);
    expect(await store.acquire('k', 'b', 'f', LOCK)).toMatchObject({ state: 'completed', response: answer });
    expect((await database.query('SELECT * FROM charges')).rows).toEqual([{ key: 'k' }]);
    await database.close();
  }, 60_000);
});

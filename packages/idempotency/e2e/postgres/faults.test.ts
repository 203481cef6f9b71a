import { setTimeout as sleep } from 'node:timers/promises';
import { Body, Controller, Post } from '@nestjs/common';
import { Idempotent, IdempotencyService } from '@nestjs/idempotency';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import type { Pool, PoolConfig } from 'pg';
import { beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { describeWith } from '../../../../tools/services/services.js';
import { newGate, type Gate } from '../fixtures/gate.js';
import { closeAfterEach, newKey, startApplication, type Application } from '../fixtures/http-application.js';
import { inTransaction, ownDatabase } from '../fixtures/postgres.js';
import { startProxy } from '../fixtures/proxy.js';
import { registering } from '../fixtures/stores.js';

const PATIENCE = { timeout: 60_000 };

let runs: number;
let began: Gate;
let goOn: Gate;
beforeEach(() => {
  runs = 0;
  began = newGate();
  goOn = newGate();
});

describeWith('postgres', 'While PostgreSQL', () => {
  closeAfterEach();
  const database = ownDatabase();
  let pool: Pool;
  let store: PostgresIdempotencyStore;

  beforeAll(async () => {
    await new PostgresIdempotencyStore(database.admin).ensureSchema();
    await database.admin.query('CREATE TABLE effects (key text)');
  });

  @Controller()
  class Charges {
    constructor(private readonly idempotency: IdempotencyService) {}

    @Post('charges')
    @Idempotent({ lockTtl: '1.5s' })
    async charge(): Promise<{ runs: number }> {
      runs += 1;
      began.open();
      await goOn.opened;

      return { runs };
    }

    @Post('joined')
    @Idempotent()
    async joined(@Body() { key }: { readonly key: string }): Promise<{ key: string }> {
      return inTransaction(pool, async (connection) => {
        await connection.query('INSERT INTO effects VALUES ($1)', [key]);
        began.open();
        await goOn.opened;
        await this.idempotency.current?.keep(store.joining(connection), { key });

        return { key };
      });
    }
  }

  function start(settings: PoolConfig = {}): Promise<Application> {
    pool = database.pool(settings);
    // Of a connection in use that dies between two statements.
    pool.on('connect', (client) => client.on('error', () => {}));
    store = new PostgresIdempotencyStore(pool);

    return startApplication('express', { controllers: [Charges], providers: [registering(store)] });
  }

  const replayed = (application: Application, key: string): Promise<void> =>
    vi.waitFor(async () => expect((await application.call('/charges', key)).replayed).toBe(true), 10_000);

  /** Of everybody else, as when a server goes. */
  const endConnections = (where = 'true'): Promise<unknown> =>
    database.admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${where}`,
    );

  it('can only be read, as a standby, no call is let through, and an outcome waits for its end', PATIENCE, async () => {
    const application = await start();
    const key = newKey();
    const first = application.call('/charges', key);
    await began.opened;
    const { rows } = await database.admin.query<{ name: string }>('SELECT current_database() AS name');
    const set = (what: string): Promise<unknown> => database.admin.query(`ALTER DATABASE ${rows[0]!.name} ${what}`);
    await set('SET default_transaction_read_only = on');
    await endConnections();
    goOn.open();

    expect(await first).toMatchObject({ status: 201, body: { runs: 1 } });
    for (const asked of [key, newKey()]) {
      const answer = await application.call('/charges', asked);
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    }

    await set('RESET default_transaction_read_only');
    await endConnections();
    await replayed(application, key);
    expect(runs).toBe(1);
  });

  it('ends statements after statement_timeout, an outcome is tried again, and is stored once', PATIENCE, async () => {
    const application = await start({ statement_timeout: 300 });
    const key = newKey();
    const first = application.call('/charges', key);
    await began.opened;
    const migration = await database.admin.connect();
    await migration.query('BEGIN');
    await migration.query('LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE');
    goOn.open();

    expect(await first).toMatchObject({ status: 201, body: { runs: 1 } });
    expect((await application.call('/charges', key)).status).toBe(503);
    await migration.query('ROLLBACK');
    migration.release();
    await replayed(application, key);
    expect([runs, application.events.filter(({ type }) => type === 'stored').length]).toEqual([1, 1]);
  });

  it(
    'is silent on a connection that renews a lock, the next renewal takes another, and no lock is lost',
    PATIENCE,
    async () => {
      const proxy = await startProxy(5432);
      onTestFinished(() => proxy.close());
      // The pool hands out the connection that came back last: until it is silent, there is one.
      const { pathname } = new URL(database.url);
      const application = await start({ connectionString: `postgres://postgres@127.0.0.1:${proxy.port}${pathname}` });
      const key = newKey();
      const first = application.call('/charges', key);
      await began.opened;
      proxy.silence();
      // Longer than the lock lives, and less than storeTimeout, which is 10 s.
      await sleep(3_000);

      expect((await application.call('/charges', key)).status).toBe(409);
      goOn.open();
      expect(await first).toMatchObject({ status: 201, body: { runs: 1 } });
      expect(await application.call('/charges', key)).toMatchObject({ body: { runs: 1 }, replayed: true });
      expect(application.log.warnings).toEqual([]);
      proxy.close();
    },
  );

  it('loses the connection between effect and answer, neither is there, and the repetition runs', async () => {
    const application = await start();
    const key = newKey();
    const call = (): ReturnType<Application['call']> => application.call('/joined', key, { body: { key } });
    const first = call();
    await began.opened;
    await endConnections(`state = 'idle in transaction'`);
    await sleep(50);
    goOn.open();

    expect((await first).status).toBe(500);
    expect(await call()).toMatchObject({ status: 201, body: { key }, replayed: false });
    expect(await call()).toMatchObject({ status: 201, body: { key }, replayed: true });
    expect((await database.admin.query('SELECT FROM effects WHERE key = $1', [key])).rowCount).toBe(1);
  });

  it('has four connections for 200 calls, which need one each besides, all of them run once', PATIENCE, async () => {
    const application = await start({ max: 4 });
    goOn.open();
    const keys = Array.from({ length: 200 }, newKey);
    const callAll = () => Promise.all(keys.map((key) => application.call('/joined', key, { body: { key } })));

    expect((await callAll()).map(({ status, replayed: again }) => [status, again])).toEqual(
      keys.map(() => [201, false]),
    );
    expect((await callAll()).map(({ status, replayed: again }) => [status, again])).toEqual(
      keys.map(() => [201, true]),
    );
    const { rows } = await database.admin.query('SELECT key FROM effects WHERE key = ANY($1) ORDER BY key', [keys]);
    expect(rows.map(({ key }: { key: string }) => key)).toEqual(keys.toSorted());
    expect([application.log.warnings, application.log.errors]).toEqual([[], []]);
  });
});

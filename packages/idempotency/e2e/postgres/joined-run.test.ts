import { IdempotencyEvents, IdempotencyModule, IdempotencyService, IdempotencyStorage } from '@nestjs/idempotency';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeWith } from '../../../../tools/services/services.js';
import { CapturedLog } from '../fixtures/http-application.js';
import { ownDatabase } from '../fixtures/postgres.js';

describeWith('postgres', 'A run whose answer is kept with its transaction, while its lock is renewed', () => {
  const database = ownDatabase();
  let pool: Pool;
  let store: PostgresIdempotencyStore;
  let app: INestApplicationContext;
  let service: IdempotencyService;
  let key: string;
  const events: string[] = [];

  beforeEach(async () => {
    pool = database.pool();
    store = new PostgresIdempotencyStore(pool);
    await store.ensureSchema();
    key = randomUUID();
    events.length = 0;
    const module = await Test.createTestingModule({ imports: [IdempotencyModule.forRoot()] })
      .setLogger(new CapturedLog())
      .compile();
    module.get(IdempotencyStorage).registerSource(store);
    app = await module.init();
    service = app.get(IdempotencyService);
    app.get(IdempotencyEvents).events$.subscribe(({ type }) => void events.push(type));
  });
  afterEach(() => app.close());

  async function inTransaction(end: 'COMMIT' | 'ROLLBACK', waitMs: number): Promise<void> {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await service.current?.keep(store.joining(client), { charged: 7 });
      await sleep(waitMs);
      await client.query(end);
    } finally {
      client.release();
    }
  }

  it('is told of no lost lock after COMMIT, and goes on', async () => {
    const work = async ({ signal }: { readonly signal: AbortSignal }): Promise<unknown> => {
      await inTransaction('COMMIT', 400);
      await sleep(300);
      return { charged: 7, aborted: signal.aborted };
    };

    expect(await service.run(key, work, { name: 'charge', lockTtl: 600 })).toEqual({ charged: 7, aborted: false });
    expect(events).toEqual(['executed', 'stored']);
    expect(await service.run(key, work, { name: 'charge' })).toEqual({ charged: 7 });
  });

  it('keeps its lock after ROLLBACK, also when that comes after the time of the lock, and can try again', async () => {
    const work = async ({ signal }: { readonly signal: AbortSignal }): Promise<unknown> => {
      await inTransaction('ROLLBACK', 900);
      await sleep(900);
      await expect(service.run(key, work, { name: 'charge' })).rejects.toMatchObject({
        code: 'IDEMPOTENCY_KEY_IN_USE',
      });
      await inTransaction('COMMIT', 0);
      return { charged: 7, aborted: signal.aborted };
    };

    expect(await service.run(key, work, { name: 'charge', lockTtl: 600 })).toEqual({ charged: 7, aborted: false });
    expect(events).toEqual(['rejected', 'executed', 'stored']);
  });
});

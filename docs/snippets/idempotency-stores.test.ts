import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { Logger, type INestApplication } from '@nestjs/common';
import { IdempotencyModule } from '@nestjs/idempotency';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { Client, Pool } from 'pg';
import request from 'supertest';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { describeWith, SERVICES } from '../../tools/services/services.js';
import { DatabaseModule, RedisModule, TransfersController } from './idempotency-stores.js';
import { Bank, PaymentsController } from './idempotency.js';

let app: INestApplication<Server>;

async function start(metadata: Parameters<typeof Test.createTestingModule>[0]): Promise<void> {
  const moduleRef = await Test.createTestingModule(metadata).compile();
  app = moduleRef.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
}

const send = (path: string, body: object) =>
  request(app.getHttpServer()).post(path).set('Idempotency-Key', 'key-1').send(body);

afterEach(async () => {
  await app.close();
});

describeWith('postgres', 'the snippets on PostgreSQL', () => {
  const server = `postgres://postgres@127.0.0.1:${SERVICES.postgres.port}`;
  const name = `docs_${randomUUID().replaceAll('-', '')}`;

  const runOn = async (database: string, sql: string): Promise<void> => {
    const client = new Client(`${server}/${database}`);
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };

  beforeAll(async () => {
    await runOn('postgres', `CREATE DATABASE ${name}`);
    await runOn(name, 'CREATE TABLE transfers (amount integer CHECK (amount < 100))');
    vi.stubEnv('DATABASE_URL', `${server}/${name}`);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await runOn('postgres', `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });

  it('commit the transfer with its answer, once, and keep nothing of one that fails', async () => {
    await start({ imports: [DatabaseModule, IdempotencyModule.forRoot()], controllers: [TransfersController] });

    expect((await send('/transfers', { amount: 100 })).status).toBe(500);
    expect((await send('/transfers', { amount: 5 })).body).toEqual({ amount: 5 });
    const replay = await send('/transfers', { amount: 5 });
    expect([replay.status, replay.body, replay.headers['idempotent-replayed']]).toEqual([201, { amount: 5 }, 'true']);
    const { rows } = await app.get(Pool).query('SELECT amount FROM transfers');
    expect(rows).toEqual([{ amount: 5 }]);
  });
});

describeWith('redis', 'the snippets on Redis', () => {
  const url = `redis://127.0.0.1:${SERVICES.redis.port}`;

  afterEach(async () => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
    const client = new Redis(url);
    await client.del('payments:idem:key-1');
    await client.quit();
  });

  it('keep the payment there', async () => {
    vi.stubEnv('REDIS_URL', url);
    const warn = vi.spyOn(Logger.prototype, 'warn');
    await start({
      imports: [RedisModule, IdempotencyModule.forRoot()],
      controllers: [PaymentsController],
      providers: [Bank],
    });

    await send('/payments', { amount: 5 });
    expect((await send('/payments', { amount: 5 })).headers['idempotent-replayed']).toBe('true');
    expect(await app.get(Redis).exists('payments:idem:key-1')).toBe(1);
    expect(warn.mock.calls.filter(([line]) => String(line).includes('Redis'))).toEqual([]);
  });
});

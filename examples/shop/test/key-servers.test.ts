import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWith, SERVICES } from '../../../tools/services/services.js';
import { openKeyDatabase } from '../src/keys/key-database.js';
import type { KeyStoreSettings } from '../src/keys/key-store-settings.js';

const CLOSED_PORT = 1;
const ANSWER = { status: 201, headers: {}, body: { id: 'shipment-1' } };

/** What a shop leaves there, the next one finds. */
async function keepAndFind(settings: KeyStoreSettings, key: string): Promise<void> {
  const first = await openKeyDatabase(settings);
  expect(await first.store.acquire(key, 'owner', 'fingerprint', 60_000)).toEqual({ state: 'acquired' });
  expect(await first.store.complete(key, 'owner', ANSWER, 60_000)).toBe(true);
  await first.close();

  const second = await openKeyDatabase(settings);
  expect(await second.store.acquire(key, 'other', 'fingerprint', 60_000)).toMatchObject({
    state: 'completed',
    response: ANSWER,
  });
  await second.close();
}

describe('Keys on a server that is not there', () => {
  it.each([
    { kind: 'postgres', variable: 'DATABASE_URL', subject: 'The database' },
    { kind: 'redis', variable: 'REDIS_URL', subject: 'The Redis' },
  ] as const)(
    'fail the start with its address, the variable and the reason, without the password ($kind)',
    async ({ kind, variable, subject }) => {
      const url = `${kind}://user:secret@127.0.0.1:${CLOSED_PORT}`;
      const error = await openKeyDatabase({ kind, url }).catch((reason: unknown) => reason);

      expect(String(error)).toMatch(`${subject} at 127.0.0.1:${CLOSED_PORT} (${variable}) does not take keys: `);
      expect(String(error)).toContain('ECONNREFUSED');
      expect(String(error)).not.toContain('secret');
    },
  );
});

describeWith('postgres', 'Keys in PostgreSQL', () => {
  const server = `postgres://postgres@127.0.0.1:${SERVICES.postgres.port}`;
  const name = `shop_${randomUUID().replaceAll('-', '')}`;

  const onServer = async (sql: string): Promise<void> => {
    const client = new Client(`${server}/postgres`);
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };

  beforeAll(() => onServer(`CREATE DATABASE ${name}`));
  afterAll(() => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));

  it('are in a table that the first start makes, and outlive the shop', async () => {
    await keepAndFind({ kind: 'postgres', url: `${server}/${name}` }, 'key');
  });

  it('need a database that exists', async () => {
    const opening = openKeyDatabase({ kind: 'postgres', url: `${server}/${name}_missing` });

    await expect(opening).rejects.toThrow(`database "${name}_missing" does not exist`);
  });
});

describeWith('redis', 'Keys in Redis', () => {
  const url = `redis://127.0.0.1:${SERVICES.redis.port}`;
  const key = `shop-test-${randomUUID()}`;

  afterAll(async () => {
    const client = new Redis(url);
    await client.del(`idem:${key}`);
    await client.quit();
  });

  it('outlive the shop', async () => {
    await keepAndFind({ kind: 'redis', url }, key);
  });
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { RedisIdempotencyStore } from '@nestjs/idempotency/redis';
import { idempotencyStoreContract } from '@nestjs/idempotency/testing';
import { describeWith, SERVICES } from '../../../../tools/services/services.js';
import { CLIENTS, deleteKeys, type Connection } from '../fixtures/redis-clients.js';

describeWith('redis', 'The store in Redis', () => {
  describe.each(Object.entries(CLIENTS))('over %s', (_name, connect) => {
    const keyPrefix = `test-${randomUUID()}:`;
    const runs = new Map<string, Promise<void>>();
    let connection: Connection;
    const cases = idempotencyStoreContract(() => new RedisIdempotencyStore(connection.client, { keyPrefix }), {
      concurrent: { callers: 16 },
      lockTime: '1.5s',
    });

    // Side by side: most of their time is waiting.
    beforeAll(async () => {
      connection = await connect(SERVICES.redis.port);
      for (const { name, run } of cases) {
        const running = run();
        running.catch(() => {});
        runs.set(name, running);
      }
    });

    afterAll(async () => {
      await Promise.allSettled(runs.values());
      connection.close();
      await deleteKeys(SERVICES.redis.port, keyPrefix);
    });

    it.each(cases.map(({ name }) => name))('%s', (name) => runs.get(name));
  });
});

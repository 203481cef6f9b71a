import { Body, Controller, Post } from '@nestjs/common';
import { Idempotent, IdempotencyService } from '@nestjs/idempotency';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { ResilienceModule, Retry, Timeout } from '@nestjs/resilience';
import type { Pool } from 'pg';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { describeWith } from '../../../../tools/services/services.js';
import { newGate, type Gate } from '../fixtures/gate.js';
import { closeAfterEach, newKey, startApplication, type Application } from '../fixtures/http-application.js';
import { inTransaction, ownDatabase } from '../fixtures/postgres.js';
import { registering } from '../fixtures/stores.js';

let gates: Gate[];
let ends: string[];
let begun: number;
beforeEach(() => {
  gates = [newGate(), newGate()];
  ends = [];
  begun = 0;
});

describeWith(
  'postgres',
  'An attempt that was given up, of a handler that keeps its answer with its transaction,',
  () => {
    closeAfterEach();
    const database = ownDatabase();
    let pool: Pool;
    let store: PostgresIdempotencyStore;

    beforeAll(async () => {
      await new PostgresIdempotencyStore(database.admin).ensureSchema();
      await database.admin.query('CREATE TABLE effects (key text, attempt int)');
    });

    @Controller()
    class Charges {
      constructor(private readonly idempotency: IdempotencyService) {}

      @Post('charges')
      @Idempotent()
      @Retry({ attempts: 2, idempotent: true, backoff: { delay: 1, jitter: 'none' } })
      @Timeout('1s')
      async charge(@Body() { key }: { readonly key: string }): Promise<{ attempt: number }> {
        const attempt = (begun += 1);
        try {
          await inTransaction(pool, async (connection) => {
            await connection.query('INSERT INTO effects VALUES ($1, $2)', [key, attempt]);
            await gates[attempt - 1]?.opened;
            await this.idempotency.current?.keep(store.joining(connection), { attempt });
          });
          ends.push(`${attempt} committed`);
          return { attempt };
        } catch (error) {
          ends.push(`${attempt} rolled back: ${(error as Error).name}`);
          throw error;
        }
      }
    }

    function start(): Promise<Application> {
      pool = database.pool();
      store = new PostgresIdempotencyStore(pool);

      return startApplication('express', {
        controllers: [Charges],
        imports: [ResilienceModule.forRoot({})],
        providers: [registering(store)],
      });
    }

    it.each([
      ['while the next one runs', [0, 1]],
      ['after the next one has answered', [1, 0]],
    ])('that ends %s is rolled back: the answer is that of the next one', async (_when, order) => {
      const application = await start();
      const key = newKey();
      const call = (): ReturnType<Application['call']> => application.call('/charges', key, { body: { key } });
      const first = call();
      await expect.poll(() => begun, { timeout: 5_000 }).toBe(2);
      for (const [count, at] of order.entries()) {
        gates[at]?.open();
        await expect.poll(() => ends.length, { timeout: 5_000 }).toBe(count + 1);
      }

      expect(await first).toMatchObject({ status: 201, body: { attempt: 2 } });
      expect(await call()).toMatchObject({ status: 201, body: { attempt: 2 }, replayed: true });
      expect(ends.toSorted()).toEqual(['1 rolled back: ResilienceTimeoutError', '2 committed']);
      const { rows } = await database.admin.query('SELECT attempt FROM effects WHERE key = $1', [key]);
      expect(rows).toEqual([{ attempt: 2 }]);
    });
  },
);

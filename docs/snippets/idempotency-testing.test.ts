import { PaymentsModule } from './idempotency.js';
// #region testing
import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { IdempotencyStorage, InMemoryIdempotencyStore } from '@nestjs/idempotency';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, beforeEach, expect, it } from 'vitest';

let app: INestApplication<Server>;
const store = new InMemoryIdempotencyStore();

beforeEach(async () => {
  const moduleRef = await Test.createTestingModule({ imports: [PaymentsModule] }).compile();
  moduleRef.get(IdempotencyStorage).registerSource(store, { replace: true });
  app = moduleRef.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
});

afterEach(async () => {
  store.clear();
  await app.close();
});

it('charges once for two requests with one key', async () => {
  const pay = () => request(app.getHttpServer()).post('/payments').set('Idempotency-Key', 'a').send({ amount: 5 });
  const first = await pay();
  const second = await pay();

  expect(second.body).toEqual(first.body);
  expect(second.headers['idempotent-replayed']).toBe('true');
  expect(store.size).toBe(1);
});
// #endregion

import { readFileSync } from 'node:fs';

const shown = (name: string): unknown => JSON.parse(readFileSync(new URL(`shown/${name}`, import.meta.url), 'utf8'));

// #region testing
import type { Server } from 'node:http';
import { ApolloDriver } from '@nestjs/apollo';
import type { INestApplication } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';
import { ResilienceModule } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { liveQuotes, scriptCarrier } from './carrier.js';
import { broker, NewsResolver, ProductPageResolver, ShippingResolver } from './graphql.js';

let app: INestApplication<Server>;

beforeEach(async () => {
  const graphql = GraphQLModule.forRoot({ driver: ApolloDriver, autoSchemaFile: true });
  const moduleRef = await Test.createTestingModule({
    imports: [ResilienceModule.forRoot(), graphql],
    providers: [ShippingResolver, ProductPageResolver, NewsResolver],
  }).compile();
  app = moduleRef.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});

afterEach(async () => {
  vi.useRealTimers();
  await app.close();
});

// then() sends it.
const send = (query: string) =>
  request(app.getHttpServer())
    .post('/graphql')
    .send({ query })
    .then((response) => response);

it('fails the field of a query that takes too long', async () => {
  const carrier = scriptCarrier([{ hang: true }]);
  const answer = send('{ shippingQuotes(orderId: "1001") { service price } }');
  await vi.waitFor(() => expect(carrier.calls).toHaveLength(1));
  await vi.advanceTimersByTimeAsync(5_000);

  expect((await answer).status).toBe(200);
  expect((await answer).body).toEqual(shown('graphql-answer.json'));
  expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
});
// #endregion

it('repeats a mutation that is declared idempotent', async () => {
  const carrier = scriptCarrier([{ fail: new Error('down') }, { answer: liveQuotes }]);
  const answer = send('mutation { refreshQuotes(orderId: "1001") { service } }');
  await vi.waitFor(() => expect(carrier.calls).toHaveLength(1));
  await vi.advanceTimersByTimeAsync(1_000);

  expect((await answer).body).toEqual({ data: { refreshQuotes: [{ service: 'ground' }] } });
});

it('answers with what there is of a page, and says what is missing', async () => {
  const carrier = scriptCarrier([{ hang: true }]);
  const answer = send('{ productPage(orderId: "1001") { title quotes { price } } }');
  await vi.waitFor(() => expect(carrier.calls).toHaveLength(1));
  await vi.advanceTimersByTimeAsync(300);

  expect((await answer).body).toEqual(shown('graphql-partial.json'));
  expect((await answer).headers).toMatchObject({
    'cache-control': 'no-store',
    'x-degraded': 'quotes=upstream_timeout;300',
  });
});

it('limits and repeats how a silent stream is opened, and nothing of the stream', async () => {
  const subscribe = vi.spyOn(broker, 'subscribe');
  const opening = app.get(NewsResolver).news();
  await vi.waitFor(() => expect(subscribe).toHaveBeenCalledTimes(1));
  const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
  subscribe.mockResolvedValue(silent);
  await vi.advanceTimersByTimeAsync(3_000);

  expect(await opening).toBe(silent);
  await vi.advanceTimersByTimeAsync(60 * 60_000);
  expect(subscribe).toHaveBeenCalledTimes(2);
});

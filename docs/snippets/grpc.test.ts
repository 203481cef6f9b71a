import type { ServiceError } from '@grpc/grpc-js';
import { ResilienceService, ResilienceTimeoutError } from '@nestjs/resilience';
import { describe } from 'vitest';
import { liveQuotes } from './carrier.js';
import { QuotesClient, QuotesClientModule, refusalOf } from './grpc.js';
// #region test
import { createServer, type AddressInfo } from 'node:net';
import type { INestMicroservice } from '@nestjs/common';
import { ClientProxyFactory, Transport, type ClientGrpcProxy, type GrpcOptions } from '@nestjs/microservices';
import { ResilienceModule } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { firstValueFrom, type Observable } from 'rxjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { scriptCarrier } from './carrier.js';
import { QUOTES, QuotesHandlers, type Found, type Order } from './grpc.js';

interface Quotes {
  find(order: Order): Observable<Found>;
  watch(order: Order): Observable<Found>;
}

let app: INestMicroservice;
let client: ClientGrpcProxy;

/** A server of gRPC does not tell which port it took, so port 0 is of no use. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));

  return port;
}

beforeEach(async () => {
  const options = { ...QUOTES, url: `127.0.0.1:${await freePort()}` };
  const module = await Test.createTestingModule({
    imports: [ResilienceModule.forRoot()],
    controllers: [QuotesHandlers],
  }).compile();
  app = module.createNestMicroservice<GrpcOptions>({ transport: Transport.GRPC, options, logger: false });
  await app.listen();
  client = ClientProxyFactory.create({ transport: Transport.GRPC, options }) as unknown as ClientGrpcProxy;
});

afterEach(async () => {
  vi.useRealTimers();
  client.close();
  await app.close();
});

it('answers a timeout with the status 4', async () => {
  const carrier = scriptCarrier([{ hang: true }]);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }); // sockets stay real
  const call = client.getService<Quotes>('Quotes').find({ orderId: '1001' });
  const answer = firstValueFrom(call).catch((error: unknown) => error);
  while (carrier.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await vi.advanceTimersByTimeAsync(1_500);
  while (carrier.calls.length === 1) await vi.advanceTimersByTimeAsync(100); // the wait between the attempts
  await vi.advanceTimersByTimeAsync(1_500);

  expect(await answer).toMatchObject({ code: 4, details: 'The operation timed out' });
});
// #endregion

describe('the page on gRPC shows', () => {
  const service = (): Quotes => client.getService<Quotes>('Quotes');

  it('handlers that answer, and repeat what failed', async () => {
    const carrier = scriptCarrier([{ fail: 503 }, { answer: liveQuotes }]);

    expect(await firstValueFrom(service().find({ orderId: '1001' }))).toEqual({ quotes: liveQuotes });
    expect(carrier.calls).toHaveLength(2);
    expect(await firstValueFrom(service().watch({ orderId: '1001' }))).toEqual({ quotes: liveQuotes });
  });

  it('what a caller finds in an error', async () => {
    app.get(ResilienceService).circuitBreaker('carrier').trip();
    const error: unknown = await firstValueFrom(service().find({ orderId: '1001' })).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: 14, details: 'Service temporarily unavailable' });
    expect(refusalOf(error as ServiceError)).toMatchObject({ code: 'CIRCUIT_OPEN', statusCode: 503, retryAfter: 30 });
  });

  it('a client, as its module wires it, whose calls end with their attempt', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const module = await Test.createTestingModule({ imports: [ResilienceModule.forRoot(), QuotesClientModule] })
      .overrideProvider('QUOTES')
      .useValue(client)
      .compile();

    await expect(module.get(QuotesClient).find('1001')).rejects.toBeInstanceOf(ResilienceTimeoutError);
    // One call of the carrier for each of ours: the service does not begin an attempt of its own after we have left.
    await vi.waitFor(() => expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled', 'cancelled']));
    await module.close();
  });
});

import { createServer, type AddressInfo } from 'node:net';
import type { ServiceError } from '@grpc/grpc-js';
import type { INestMicroservice } from '@nestjs/common';
import { ClientProxyFactory, Transport, type ClientGrpcProxy, type GrpcOptions } from '@nestjs/microservices';
import { ResilienceModule, ResilienceService, ResilienceTimeoutError } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { firstValueFrom, type Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { liveQuotes, scriptCarrier } from './carrier.js';
import { QuotesClient, QuotesHandlers, refusalOf, type Found, type Order } from './grpc.js';

let app: INestMicroservice;
let client: ClientGrpcProxy;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));

  return port;
}

beforeEach(async () => {
  const options = {
    package: 'quotes',
    protoPath: new URL('quotes.proto', import.meta.url).pathname,
    url: `127.0.0.1:${await freePort()}`,
  };
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

const service = () =>
  client.getService<{ find(order: Order): Observable<Found>; watch(order: Order): Observable<Found> }>('Quotes');

describe('the page on gRPC shows', () => {
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

  // #region test
  it('a timeout that answers with the status 4', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }); // sockets stay real
    const answer = firstValueFrom(service().find({ orderId: '1001' })).catch((error: unknown) => error);
    while (carrier.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(1_500);
    while (carrier.calls.length === 1) await vi.advanceTimersByTimeAsync(100); // the wait between the attempts
    await vi.advanceTimersByTimeAsync(1_500);

    expect(await answer).toMatchObject({ code: 4, details: 'The operation timed out' });
  });
  // #endregion

  it('a client whose calls end with their attempt', async () => {
    scriptCarrier([{ hang: true }]);
    const quotes = new QuotesClient(client, app.get(ResilienceService));

    await expect(quotes.find('1001')).rejects.toBeInstanceOf(ResilienceTimeoutError);
  });
});

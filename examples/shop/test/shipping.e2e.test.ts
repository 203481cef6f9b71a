// #region testing
import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { ResilienceService } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AppModule } from '../src/app.module.js';
import { CarrierClient, type ShippingQuote } from '../src/shipping/carrier.client.js';

const liveQuotes: ShippingQuote[] = [{ service: 'ground', price: 6.9, estimatedDays: 4 }];
const flatRates: ShippingQuote[] = [{ service: 'flat-rate', price: 4.99, estimatedDays: 5 }];

/** A carrier that never answers, but lets go when its signal aborts. */
function hang(_order: unknown, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

describe('Shipping quotes', () => {
  const carrier = { getQuotes: vi.fn<CarrierClient['getQuotes']>(), createShipment: vi.fn() };
  let app: INestApplication<Server>;

  beforeEach(async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(CarrierClient)
      .useValue(carrier)
      .compile();
    app = moduleRef.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    // Timers and Date only: the server and supertest go on with real sockets.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  });

  afterEach(async () => {
    vi.useRealTimers();
    vi.resetAllMocks();
    await app.close();
  });

  const getQuotes = () => request(app.getHttpServer()).get('/shipping/quotes?orderId=1001');

  it('answers 504 and cancels both calls when the carrier hangs', async () => {
    carrier.getQuotes.mockImplementation(hang);

    // supertest sends with then(); without it, there would be nothing yet whose time could pass.
    const answer = getQuotes().then((response) => response);
    await vi.waitFor(() => expect(carrier.getQuotes).toHaveBeenCalled());
    await vi.advanceTimersByTimeAsync(5_000); // two attempts of 1.5 s and the backoff between them

    expect((await answer).status).toBe(504);
    expect(carrier.getQuotes).toHaveBeenCalledTimes(2);
    expect(carrier.getQuotes.mock.calls.map(([, signal]) => signal.aborted)).toEqual([true, true]);
  });

  it('serves flat rates while the breaker is open, and live quotes from the probe on', async () => {
    carrier.getQuotes.mockResolvedValue(liveQuotes);
    const breaker = app.get(ResilienceService).circuitBreaker('carrier');
    breaker.trip();

    expect((await getQuotes()).body).toEqual(flatRates);
    vi.advanceTimersByTime(29_999);
    expect((await getQuotes()).body).toEqual(flatRates);
    expect(carrier.getQuotes).not.toHaveBeenCalled();

    vi.advanceTimersByTime(1); // openDuration is over: the next call is the probe
    expect((await getQuotes()).body).toEqual(liveQuotes);
    expect(breaker.state).toBe('closed');
  });
});
// #endregion

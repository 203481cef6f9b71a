import type { Server } from 'node:http';
import { Controller, Get, Injectable, Module, type INestApplication } from '@nestjs/common';
import {
  CircuitOpenError,
  Fallback,
  Resilience,
  ResilienceModule,
  ResilienceService,
  Signal,
  Timeout,
} from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

/** The recipe of the documentation, with its tools: supertest, and `vi.waitFor()` that moves the clock by itself. */

@Injectable()
class CarrierClient {
  getQuotes(_signal: AbortSignal): Promise<unknown> {
    return Promise.reject(new Error('not in a test'));
  }
}

@Controller('shipping')
class ShippingController {
  constructor(private readonly carrier: CarrierClient) {}

  @Get('quotes')
  @Resilience('carrier')
  @Timeout('1.5s')
  @Fallback('flatRateQuotes', { handleIf: (error) => error instanceof CircuitOpenError })
  getQuotes(@Signal() signal: AbortSignal) {
    return this.carrier.getQuotes(signal);
  }

  flatRateQuotes() {
    return [{ service: 'flat-rate' }];
  }
}

@Module({
  imports: [
    ResilienceModule.forRoot({
      defaults: { timeout: '5s', retry: { attempts: 3, backoff: { delay: '200ms', maxDelay: '2s' } } },
      presets: {
        carrier: {
          timeout: '2s',
          retry: { attempts: 2 },
          circuitBreaker: { failureRateThreshold: 50, minimumCalls: 10, openDuration: '30s' },
        },
      },
    }),
  ],
  controllers: [ShippingController],
  providers: [CarrierClient],
})
class AppModule {}

describe('Tests of applications', () => {
  const carrier = { getQuotes: vi.fn<(signal: AbortSignal) => Promise<unknown>>() };
  let app: INestApplication<Server>;

  beforeEach(async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(CarrierClient)
      .useValue(carrier)
      .compile();
    app = moduleRef.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  });

  afterEach(async () => {
    vi.useRealTimers();
    vi.resetAllMocks();
    await app.close();
  });

  const getQuotes = () => request(app.getHttpServer()).get('/shipping/quotes');

  it('see a hanging carrier given up twice, without waiting for it', async () => {
    carrier.getQuotes.mockImplementation(
      (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    );

    const response = getQuotes().then((answer) => answer);
    await vi.waitFor(() => expect(carrier.getQuotes).toHaveBeenCalled());
    await vi.advanceTimersByTimeAsync(5_000);

    expect((await response).status).toBe(504);
    expect(carrier.getQuotes.mock.calls.map(([signal]) => signal.aborted)).toEqual([true, true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('open a breaker with trip(), and get to the probe by moving the clock', async () => {
    carrier.getQuotes.mockResolvedValue(['live']);
    const breaker = app.get(ResilienceService).circuitBreaker('carrier');
    breaker.trip();
    expect((await getQuotes()).body).toEqual([{ service: 'flat-rate' }]);
    expect(carrier.getQuotes).not.toHaveBeenCalled();

    vi.advanceTimersByTime(30_000);

    expect((await getQuotes()).body).toEqual(['live']);
    expect(breaker.state).toBe('closed');
  });

  it('start with fresh state each', async () => {
    expect(app.get(ResilienceService).circuitBreaker('carrier').state).toBe('closed');
  });
});

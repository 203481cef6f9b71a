import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { INestApplication, LoggerService, ModuleMetadata } from '@nestjs/common';
import { ResilienceModule } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { flatRates, liveQuotes, scriptCarrier } from './carrier.js';
import { resilience, SETTINGS } from './configuration.js';
import {
  BookingsController,
  OffersController,
  QuotesController,
  QuotesService,
  RatesController,
} from './entrypoints.js';
import { AppModule } from './app.module.js';

const shown = (name: string): string => readFileSync(new URL(`shown/${name}`, import.meta.url), 'utf8').trim();

let app: INestApplication<Server>;
let logged: string[] = [];

const logger: LoggerService = {
  log: () => {},
  error: (message, _stack, context) => void logged.push(`ERROR [${context}] ${message}`),
  warn: (message, context) => void logged.push(`WARN [${context}] ${message}`),
};

async function start(metadata: ModuleMetadata): Promise<void> {
  logged = [];
  const moduleRef = await Test.createTestingModule(metadata).compile();
  app = moduleRef.createNestApplication({ logger });
  await app.listen(0, '127.0.0.1');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
}

const startWith = (controller: new (...given: never[]) => object, providers: ModuleMetadata['providers'] = []) =>
  start({ imports: [ResilienceModule.forRoot()], controllers: [controller], providers });

// then() sends it.
const get = (path: string) =>
  request(app.getHttpServer())
    .get(path)
    .then((response) => response);

afterEach(async () => {
  vi.useRealTimers();
  await app.close();
});

/** Waits for the request to arrive, and lets time pass for it. */
async function passTime(calls: readonly unknown[], milliseconds: number): Promise<void> {
  await vi.waitFor(() => expect(calls.length).toBeGreaterThan(0));
  await vi.advanceTimersByTimeAsync(milliseconds);
}

describe('the documentation’s entrypoints', () => {
  it('start with a preset: 504 after two attempts, and both are cancelled', async () => {
    await start({ imports: [AppModule] });
    const carrier = scriptCarrier([{ hang: true }]);
    const answer = get('/quotes/1001');
    await passTime(carrier.calls, 4_000);

    const { status, body } = await answer;
    expect(status).toBe(504);
    expect(body).toEqual(JSON.parse(shown('timeout-answer.json')));
    expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
  });

  it('retry a GET', async () => {
    await startWith(QuotesController);
    const carrier = scriptCarrier([{ fail: 503 }, { fail: 503 }, { answer: liveQuotes }]);
    const answer = get('/quotes/1001');
    await passTime(carrier.calls, 300);

    expect((await answer).body).toEqual(liveQuotes);
  });

  it('do not retry a POST, and say so at boot', async () => {
    await startWith(BookingsController);
    const carrier = scriptCarrier([{ fail: 503 }]);
    const { status } = await request(app.getHttpServer()).post('/bookings/1001');

    expect(status).toBe(500);
    expect(carrier.calls).toHaveLength(1);
    expect(logged[0]).toBe(shown('retry-warning.txt'));
  });

  it('refuse while their breaker is open, with Retry-After', async () => {
    await startWith(RatesController);
    scriptCarrier([{ fail: 503 }]);
    for (let call = 0; call < 10; call++) await get('/rates/1001');
    const { status, headers, body } = await get('/rates/1001');

    expect(status).toBe(503);
    expect(headers['retry-after']).toBe('30');
    expect(body).toEqual(JSON.parse(shown('breaker-answer.json')));
  });

  it('answer with their fallback, and status 200', async () => {
    await startWith(OffersController);
    const carrier = scriptCarrier([{ hang: true }]);
    const answer = get('/offers/1001');
    await passTime(carrier.calls, 1_000);

    const { status, body } = await answer;
    expect([status, body]).toEqual([200, flatRates]);
  });

  it('are no services: a decorator there does nothing, and bootstrap says so', async () => {
    await startWith(QuotesController, [QuotesService]);

    expect(logged).toEqual([shown('provider-warning.txt')]);
  });

  it('take their options from a factory', async () => {
    const settings = {
      module: SettingsModule,
      global: true,
      providers: [{ provide: SETTINGS, useValue: { timeoutMs: 50 } }],
      exports: [SETTINGS],
    };

    await start({ imports: [settings, resilience] });
  });
});

class SettingsModule {}

import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { ResilienceModule } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scriptCarrier } from './carrier.js';
import { QuotesController } from './deadlines-on-nest.js';

let app: INestApplication<Server>;

beforeEach(async () => {
  const moduleRef = await Test.createTestingModule({
    imports: [ResilienceModule.forRoot()],
    controllers: [QuotesController],
  }).compile();
  app = moduleRef.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await app.close();
});

describe('the page on deadlines shows for Nest', () => {
  it('a budget over two attempts and the wait between them', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const answer = request(app.getHttpServer())
      .get('/quotes/1001')
      .then((response) => response);
    await vi.waitFor(() => expect(carrier.calls).toHaveLength(1));
    await vi.advanceTimersByTimeAsync(3_000);
    const { status, body } = await answer;

    expect([status, (body as { code: string }).code]).toEqual([504, 'DEADLINE_EXCEEDED']);
    expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
  });
});

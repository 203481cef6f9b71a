import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { BudgetPolicy } from 'holdfast';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scriptCarrier } from './carrier.js';
import { AppModule, headersOfCall } from './deadlines-on-nest.js';

let app: INestApplication<Server>;

beforeEach(async () => {
  const moduleRef = await Test.createTestingModule({
    imports: [AppModule],
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

  it('a caller who waits for less', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const answer = request(app.getHttpServer())
      .get('/quotes/1001')
      .set('x-request-timeout-ms', '300')
      .then((response) => response);
    await vi.waitFor(() => expect(carrier.calls).toHaveLength(1));
    await vi.advanceTimersByTimeAsync(300);

    expect((await answer).status).toBe(504);
    expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled']);
  });

  it('what is left, for a call of a dependency', async () => {
    expect(headersOfCall()).toEqual({});
    expect(await new BudgetPolicy(300).execute(headersOfCall)).toEqual({ 'x-request-timeout-ms': '300' });
  });
});

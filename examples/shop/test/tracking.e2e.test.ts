import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import request, { type Response } from 'supertest';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AppModule } from '../src/app.module.js';
import { TrackingClient } from '../src/tracking/tracking.client.js';

describe('Parcel tracking', () => {
  const partner = { getParcel: vi.fn<TrackingClient['getParcel']>() };
  let app: INestApplication<Server>;

  beforeEach(async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(TrackingClient)
      .useValue(partner)
      .compile();
    app = moduleRef.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    partner.getParcel.mockImplementation(async (trackingNumber) => ({ trackingNumber, status: 'in-transit' }));
  });

  afterEach(async () => {
    vi.useRealTimers();
    vi.resetAllMocks();
    await app.close();
  });

  const lookUp = (): Promise<Response> =>
    request(app.getHttpServer())
      .get('/tracking/CAT000001')
      .then((response) => response);

  it('answers five look-ups, lets one wait for a second, and refuses the next', async () => {
    for (let call = 1; call <= 5; call++) {
      expect((await lookUp()).body).toEqual({ trackingNumber: 'CAT000001', status: 'in-transit' });
    }

    const waiting = lookUp();
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
    const refused = await lookUp();

    expect(refused.status).toBe(503);
    expect(refused.get('Retry-After')).toBe('2');
    expect(refused.body).toEqual({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'Rate limit of a dependency exceeded',
      code: 'RATE_LIMITED',
    });

    await vi.advanceTimersByTimeAsync(1000);
    expect((await waiting).status).toBe(200);
    expect(partner.getParcel).toHaveBeenCalledTimes(6);
  });
});

import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { InMemoryIdempotencyStore } from '@nestjs/idempotency';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KeyDatabase } from '../src/keys/key-database.js';
import { ServedModule } from '../src/served.module.js';
import { CarrierClient } from '../src/shipping/carrier.client.js';

const shipment = { id: 'shipment-1', reference: '1001', trackingNumber: 'CAT000001' };

/** Longer than an application without calls takes to close. */
const SLOW_MS = 300;

describe('Bookings with a key', () => {
  const carrier = { getQuotes: vi.fn(), createShipment: vi.fn<CarrierClient['createShipment']>() };
  const store = new InMemoryIdempotencyStore();
  const events: string[] = [];
  let app: INestApplication<Server>;

  beforeEach(async () => {
    const close = async (): Promise<void> => void events.push('closed');
    const database: KeyDatabase = { store, place: 'memory', close };
    const moduleRef = await Test.createTestingModule({ imports: [ServedModule.withKeysIn(database)] })
      .overrideProvider(CarrierClient)
      .useValue(carrier)
      .compile();
    app = moduleRef.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
  });

  afterEach(async () => {
    await app.close();
    vi.resetAllMocks();
    store.clear();
    events.length = 0;
  });

  const book = (orderId: unknown = '1001', key = 'booking-1') =>
    request(app.getHttpServer()).post('/shipping/shipments').set('Idempotency-Key', key).send({ orderId });

  it('are made once, however often they are sent', async () => {
    carrier.createShipment.mockResolvedValue(shipment);
    const first = await book();
    const second = await book();

    expect([first, second].map(({ status, body }) => ({ status, body: body as unknown }))).toEqual([
      { status: 201, body: shipment },
      { status: 201, body: shipment },
    ]);
    expect([first, second].map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, 'true']);
    expect(carrier.createShipment).toHaveBeenCalledTimes(1);
  });

  it('sent twice at once are made once, and the second is told to come back', async () => {
    let answer = (_: typeof shipment): void => {};
    carrier.createShipment.mockReturnValue(new Promise((resolve) => (answer = resolve)));
    const first = book().then((response) => response);
    await vi.waitFor(() => expect(carrier.createShipment).toHaveBeenCalled());

    const { status, headers, body } = await book();
    expect({ status, retryAfter: headers['retry-after'] }).toEqual({ status: 409, retryAfter: '1' });
    expect(body).toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE' });
    answer(shipment);
    expect((await first).status).toBe(201);
    expect(carrier.createShipment).toHaveBeenCalledTimes(1);
  });

  it('repeat their attempts under one key', async () => {
    carrier.createShipment.mockRejectedValueOnce(new Error('reset')).mockResolvedValue(shipment);

    expect((await book()).status).toBe(201);
    expect(carrier.createShipment).toHaveBeenCalledTimes(2);
  });

  it('keep the store until their answers are written, also when the application ends meanwhile', async () => {
    carrier.createShipment.mockResolvedValue(shipment);
    const complete = store.complete.bind(store);
    const failing = vi.spyOn(store, 'complete').mockRejectedValueOnce(new Error('The database is away'));
    failing.mockImplementation(async (...call) => {
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      events.push('stored');
      return complete(...call);
    });

    expect((await book()).status).toBe(201);
    expect(events).toEqual([]);
    await app.close();
    expect(events).toEqual(['stored', 'closed']);
  });
});

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCarrierStub } from './carrier-stub.js';

describe('The carrier stub', () => {
  let server: Server;
  let url: string;

  beforeEach(async () => {
    server = createCarrierStub().listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  const post = (path: string, body: unknown, signal?: AbortSignal) =>
    fetch(url + path, { method: 'POST', body: JSON.stringify(body), signal: signal ?? null });
  const stats = async (): Promise<unknown> => (await fetch(`${url}/stats`)).json();

  it('quotes two services for any order', async () => {
    const response = await post('/v2/quotes', { reference: '1001', items: [] });

    expect(await response.json()).toEqual([
      { service: 'ground', price: 6.9, estimatedDays: 4 },
      { service: 'express', price: 14.5, estimatedDays: 1 },
    ]);
  });

  it('books a reference once, however often it is sent', async () => {
    const first = await post('/v2/shipments', { reference: '1001' });
    const again = await post('/v2/shipments', { reference: '1001' });
    const other = await post('/v2/shipments', { reference: '1002' });

    expect([first.status, again.status, other.status]).toEqual([201, 200, 201]);
    expect(await again.json()).toEqual(await first.json());
    expect(await other.json()).toMatchObject({ reference: '1002', trackingNumber: 'CAT000002' });
  });

  it('fails with the status that it was told', async () => {
    await post('/mode', { mode: 'fail', status: 500 });

    expect((await post('/v2/quotes', { reference: '1001' })).status).toBe(500);
  });

  it('hangs until the client gives up, and counts that as cancelled', async () => {
    await post('/mode', { mode: 'hang' });
    const controller = new AbortController();
    const call = post('/v2/quotes', { reference: '1001' }, controller.signal).catch((error: Error) => error.name);

    await vi.waitFor(async () => expect(await stats()).toMatchObject({ requests: 1, cancelled: 0, pending: 1 }));
    controller.abort();

    expect(await call).toBe('AbortError');
    await vi.waitFor(async () => expect(await stats()).toMatchObject({ requests: 1, cancelled: 1, pending: 0 }));
  });

  it('takes its time when told to be slow, but answers', async () => {
    await post('/mode', { mode: 'slow', delayMs: 100 });
    const start = performance.now();

    expect((await post('/v2/quotes', { reference: '1001' })).status).toBe(200);
    expect(performance.now() - start).toBeGreaterThan(95);
  });

  it('is another company than the tracking partner: its mode does not touch parcels', async () => {
    await post('/mode', { mode: 'hang' });

    expect(await (await fetch(`${url}/v1/parcels/CAT000001`)).json()).toEqual({
      trackingNumber: 'CAT000001',
      status: 'in-transit',
    });
  });

  it('counts by path', async () => {
    await post('/v2/quotes', { reference: '1001' });
    await post('/v2/quotes', { reference: '1001' });
    await post('/v2/shipments', { reference: '1001' });
    await fetch(`${url}/v1/parcels/CAT000001`);

    await vi.waitFor(async () =>
      expect(await stats()).toEqual({
        requests: 4,
        cancelled: 0,
        pending: 0,
        byPath: {
          '/v2/quotes': { requests: 2, cancelled: 0 },
          '/v2/shipments': { requests: 1, cancelled: 0 },
          '/v1/parcels': { requests: 1, cancelled: 0 },
        },
      }),
    );
  });

  it('starts over on reset: counts, mode and bookings', async () => {
    await post('/v2/shipments', { reference: '1001' });
    await post('/mode', { mode: 'fail' });
    await post('/reset', {});

    expect(await stats()).toEqual({ requests: 0, cancelled: 0, pending: 0, byPath: {} });
    expect((await post('/v2/shipments', { reference: '1001' })).status).toBe(201);
  });

  it.each([
    { what: 'a call without a reference', path: '/v2/quotes', body: '{}', status: 422 },
    { what: 'an unknown mode', path: '/mode', body: '{"mode":"sleep"}', status: 400 },
    { what: 'a body that is no JSON', path: '/mode', body: 'hang', status: 400 },
    { what: 'a body that is no object', path: '/mode', body: 'null', status: 400 },
    { what: 'an unknown path', path: '/v3/quotes', body: '{}', status: 404 },
  ])('refuses $what', async ({ path, body, status }) => {
    const response = await fetch(url + path, { method: 'POST', body });

    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ message: expect.any(String) as unknown });
  });
});

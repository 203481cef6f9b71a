import { EventRecorder } from 'holdfast/testing';
import type { RequestListener } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { COUPON, hang, json, ORDER, USER, useHome, warmUp } from './home-on-sockets.js';

// The platform's sockets are the subject: real time.
const PATIENCE = { timeout: 10_000 };
const LIMIT_MS = 400;

const start = useHome();
beforeAll(warmUp);

/** A byte of the body every few milliseconds, for ever. */
const trickle: RequestListener = (_request, response) => {
  response.writeHead(200).write('[');
  const interval = setInterval(() => response.write(' '), 5);
  response.once('close', () => clearInterval(interval));
};

/** A byte of the head every few milliseconds, for ever. */
const trickleHead: RequestListener = (_request, response) => {
  const { socket } = response;
  socket?.write('HTTP/1.1 200 OK\r\nx-slow: ');
  const interval = setInterval(() => socket?.write('x'), 5);
  response.once('close', () => clearInterval(interval));
};

const SLOW: [string, RequestListener][] = [
  ['hangs', hang],
  ['hangs after its head', (_request, response) => void response.writeHead(200).write('{')],
  ['trickles its head', trickleHead],
  ['trickles its body', trickle],
];

const BROKEN: [string, RequestListener][] = [
  ['answers 500 with JSON', json({ error: 'coupon 挂了' }, 500)],
  ['answers 404', json({ error: 'not_found' }, 404)],
  ['answers with half of its JSON', (_request, response) => void response.end('{"count":')],
  ['answers with a page of HTML', (_request, response) => void response.end('<html>secret-host-7</html>')],
  ['answers with nothing', (_request, response) => void response.writeHead(204).end()],
  ['answers null', json(null)],
  ['answers with a list', json([])],
  ['resets the connection', (_request, response) => void response.socket?.resetAndDestroy()],
  [
    'resets the connection within its body',
    (_request, response) => {
      response.writeHead(200).write('{"count":', () => response.socket?.resetAndDestroy());
    },
  ],
  ['speaks no HTTP', (_request, response) => void response.socket?.end('HELO\r\n\r\n')],
  ['redirects to itself', (_request, response) => void response.writeHead(302, { location: '/coupon' }).end()],
];

const page = (parts: object, degraded: readonly object[]): string =>
  JSON.stringify({
    data: { user: USER, order: ORDER, coupon: COUPON, ...parts },
    degraded,
    partial: degraded.length > 0,
  });

describe('when all services are well, the page', () => {
  it('is whole, and says nothing of caches', async () => {
    const home = await start();
    const { status, headers, body } = await home.send('/api/home');

    expect(status).toBe(200);
    expect(body).toBe(page({}, []));
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers).not.toHaveProperty('x-degraded');
    expect(headers).not.toHaveProperty('cache-control');
    expect(home.asked).toEqual({ user: 1, order: 1, coupon: 1 });
  });
});

describe('a page without coupons, since their service', () => {
  it.each(SLOW)('%s, comes at the limit with what there is', async (_what, coupon) => {
    const home = await start({ coupon });
    const startedAt = performance.now();
    const { status, headers, body } = await home.send('/api/home');

    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(LIMIT_MS - 1);
    expect(status).toBe(200);
    expect(body).toBe(page({ coupon: null }, [{ key: 'coupon', reason: 'timeout' }]));
    expect(headers['x-degraded']).toMatch(/^coupon=upstream_timeout;\d+$/);
    expect(headers['cache-control']).toBe('no-store');
    await expect.poll(() => home.inFlight.coupon, PATIENCE).toBe(0);
  });

  it.each(BROKEN)('%s, says that it failed and not how', async (_what, coupon) => {
    const home = await start({ coupon });
    const { status, headers, body } = await home.send('/api/home');

    expect(status).toBe(200);
    expect(body).toBe(page({ coupon: null }, [{ key: 'coupon', reason: 'error' }]));
    expect(headers['x-degraded']).toMatch(/^coupon=upstream_error;\d+$/);
    expect(headers['cache-control']).toBe('no-store');
    await expect.poll(() => home.inFlight.coupon, PATIENCE).toBe(0);
  });
});

describe('the page', () => {
  it('lists all that is missing, and is there with nothing but the user', async () => {
    const home = await start({ order: json({}, 503), coupon: hang });
    const { status, headers, body } = await home.send('/api/home');

    expect(status).toBe(200);
    expect(body).toBe(
      page({ order: null, coupon: null }, [
        { key: 'order', reason: 'error' },
        { key: 'coupon', reason: 'timeout' },
      ]),
    );
    expect(headers['x-degraded']).toMatch(/^order=upstream_error;\d+, coupon=upstream_timeout;\d+$/);
  });

  it.each(BROKEN)('is an answer of 502 when the service of users %s', async (_what, user) => {
    const home = await start({ user });
    const { status, headers, body } = await home.send('/api/home');

    expect(status).toBe(502);
    expect(body).toBe('{"error":"unavailable","key":"user","reason":"error"}');
    expect(headers['cache-control']).toBe('no-store');
    await expect.poll(() => home.nothingInFlight, PATIENCE).toBe(true);
  });

  it.each(SLOW)('is an answer of 502 when the service of users %s', async (_what, user) => {
    const home = await start({ user });
    const { status, body } = await home.send('/api/home');

    expect(status).toBe(502);
    expect(body).toBe('{"error":"unavailable","key":"user","reason":"timeout"}');
    await expect.poll(() => home.nothingInFlight, PATIENCE).toBe(true);
  });

  it('does not wait for the rest when the user has failed, and ends what was called for it', async () => {
    const events = new EventRecorder();
    const home = await start({ user: json({}, 500), order: hang, coupon: hang });
    const { status } = await home.send('/api/home');
    await expect.poll(() => home.nothingInFlight, PATIENCE).toBe(true);
    events.stop();

    expect(status).toBe(502);
    expect(home.asked).toEqual({ user: 1, order: 1, coupon: 1 });
    // Whatever reaches its limit is told of.
    expect(events.of('degraded').map(({ section }) => section)).toEqual(['user']);
  });
});

describe('the naive page', () => {
  it('is the same when all services are well', async () => {
    const home = await start();

    expect(await home.send('/api/home-naive')).toMatchObject({ status: 200, body: page({}, []) });
  });

  it('is lost as a whole when one part fails', async () => {
    const home = await start({ coupon: json({}, 500) });

    expect(await home.send('/api/home-naive')).toMatchObject({ status: 500, body: '{"error":"internal"}' });
  });
});

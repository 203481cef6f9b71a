import { beforeAll, describe, expect, it } from 'vitest';
import { useHome, warmUp } from './home-on-sockets.js';

const start = useHome();
beforeAll(warmUp);

describe('the page', () => {
  it.each([
    ['is empty', ''],
    ['is no query', 'from=app&x=%zz?&&=/'],
    ['is long', 'x'.repeat(8_000)],
  ])('is the same when the query %s', async (_how, query) => {
    const home = await start();
    const { status, body } = await home.send(`/api/home?${query}`);

    expect(status).toBe(200);
    expect(body).toContain('"partial":false');
  });

  it('has no body when only its head is asked for, and the head is that of a GET', async () => {
    const home = await start();
    const head = await home.send('/api/home', { method: 'HEAD' });
    const get = await home.send('/api/home');

    expect(head).toMatchObject({ status: 200, body: '' });
    expect(head.headers['content-type']).toBe(get.headers['content-type']);
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(get.body)));
  });
});

describe('anything else', () => {
  it.each([
    '/',
    '/api',
    '/api/home/',
    '/api/HOME',
    '/api/home%20',
    '//api/home',
    '/api/home/../home',
    'http://elsewhere/api/home',
    '/"quoted"\\path',
    '/search?next=/api/home',
  ])('is not found, and told so with the path as it was sent: %s', async (path) => {
    const home = await start();
    const { status, headers, body } = await home.send(path);

    expect(status).toBe(404);
    expect(body).toBe(JSON.stringify({ error: 'not_found', path }));
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(home.asked).toEqual({ user: 0, order: 0, coupon: 0 });
  });

  it('is not found however long its path is', async () => {
    const home = await start();
    const path = `/${'x'.repeat(8_000)}`;

    expect(await home.send(path)).toMatchObject({ status: 404, body: JSON.stringify({ error: 'not_found', path }) });
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('such as a %s to the page is not found either', async (method) => {
    const home = await start();
    const { status, body } = await home.send('/api/home', { method, body: 'x'.repeat(100_000) });

    expect(status).toBe(404);
    expect(body).toBe('{"error":"not_found","path":"/api/home"}');
    expect(home.asked.user).toBe(0);
  });

  it('such as a path that is longer than a head may be is refused by Node, and the server serves on', async () => {
    const home = await start();

    expect(await home.send(`/${'x'.repeat(20_000)}`)).toMatchObject({ status: 431 });
    expect(await home.send('/api/home')).toMatchObject({ status: 200 });
  });
});

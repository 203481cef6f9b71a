import { once } from 'node:events';
import { createServer, get, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi, type MockInstance } from 'vitest';
import { createHomeByHand } from './home-page.js';

// A floor that promised less than the page of the example would make that look slow.

const USER = { id: 1, name: '金铭', vip: true };
const ORDER = { count: 3, amount: '128.00' };

const answering =
  (body: unknown): RequestListener =>
  (_request, response) => {
    response.end(JSON.stringify(body));
  };
const hanging: RequestListener = () => {};
const trickling: RequestListener = (_request, response) => {
  response.write('{');
};
const failing: RequestListener = (_request, response) => {
  response.writeHead(500).end('a secret of the service');
};

describe('the home page by hand', () => {
  const servers: Server[] = [];
  let log: MockInstance<typeof console.error>;
  let asked = 0;
  let inFlight = 0;

  beforeEach(() => {
    log = vi.spyOn(console, 'error').mockImplementation(() => {});
    asked = inFlight = 0;
  });

  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  async function listen(server: Server): Promise<string> {
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');

    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function startHome(user: RequestListener, order: RequestListener, coupon: RequestListener): Promise<string> {
    const [userUrl, orderUrl, couponUrl] = await Promise.all(
      [user, order, coupon].map((serve) =>
        listen(
          createServer((request, response) => {
            asked += 1;
            inFlight += 1;
            response.once('close', () => (inFlight -= 1));
            serve(request, response);
          }),
        ),
      ),
    );

    return listen(createHomeByHand({ user: `${userUrl}`, order: `${orderUrl}`, coupon: `${couponUrl}` }));
  }

  it('is whole where everything answers', async () => {
    const home = await startHome(answering(USER), answering(ORDER), answering({ coupons: [] }));
    const answer = await fetch(`${home}/api/home`);

    expect(await answer.json()).toEqual({
      data: { user: USER, order: ORDER, coupon: { coupons: [] } },
      degraded: [],
      partial: false,
    });
    expect(answer.headers.get('x-degraded')).toBeNull();
    expect(log).not.toHaveBeenCalled();
  });

  it.each([
    ['hangs', hanging, 'timeout'],
    ['stalls after its head', trickling, 'timeout'],
    ['fails', failing, 'error'],
    ['gives no object', answering([1]), 'error'],
  ])('is the page of the example where a part %s, and leaves no call behind', async (_how, coupon, reason) => {
    const home = await startHome(answering(USER), answering(ORDER), coupon);
    const answer = await fetch(`${home}/api/home`);
    const body = await answer.text();

    expect(body).toBe(
      `{"data":{"user":{"id":1,"name":"金铭","vip":true},"order":{"count":3,"amount":"128.00"},"coupon":null},` +
        `"degraded":[{"key":"coupon","reason":"${reason}"}],"partial":true}`,
    );
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-degraded')).toMatch(new RegExp(`^coupon=upstream_${reason};\\d+$`));
    expect(log).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(`^coupon: upstream_${reason} after `));
    await vi.waitFor(() => expect(inFlight).toBe(0));
  });

  it('is refused without the user', async () => {
    const home = await startHome(failing, answering(ORDER), answering({}));
    const answer = await fetch(`${home}/api/home`);

    expect(answer.status).toBe(502);
    expect(await answer.json()).toEqual({ error: 'unavailable', key: 'user', reason: 'error' });
  });

  it('is ended, with all of its calls, when its client leaves', async () => {
    const home = await startHome(answering(USER), hanging, hanging);
    const request = get(`${home}/api/home`).on('error', () => {});
    await vi.waitFor(() => expect(asked).toBe(3));
    request.destroy();
    await vi.waitFor(() => expect(inFlight).toBe(0));

    // At their limit it would have logged them as missing.
    expect(log).not.toHaveBeenCalled();
  });

  it('is nowhere else', async () => {
    const home = await startHome(hanging, hanging, hanging);
    const answer = await fetch(`${home}/nowhere`);

    expect(answer.status).toBe(404);
    expect(await answer.json()).toEqual({ error: 'not_found', path: '/nowhere' });
  });
});

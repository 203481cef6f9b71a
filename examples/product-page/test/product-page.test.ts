import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Upstream } from '../src/upstreams.js';
import { PageOnSockets } from './page-on-sockets.js';

let page: PageOnSockets;

beforeEach(async () => {
  page = new PageOnSockets();
  await page.start();
});

afterEach(() => page.stop());

/** Real time: a machine that is held up is tried again. */
const TIMED = { retry: 4, timeout: 30_000 };
const whole = {
  product: { id: '7', name: 'Cat food, tuna' },
  reviews: { stars: 4.5, count: 128 },
  similar: [{ id: '8', name: 'Cat food, salmon' }],
  degraded: [],
};
const unavailable = { statusCode: 502, error: 'Bad Gateway', message: 'catalog unavailable', code: 'SECTION_FAILED' };

describe('The product page', () => {
  it('has all its parts, and may be kept by caches', async () => {
    const { status, headers, body } = await page.get('/product-pages/7');

    expect(status).toBe(200);
    expect(body).toEqual(whole);
    expect(headers.has('etag')).toBe(true);
    expect(headers.has('x-degraded')).toBe(false);
  });

  it('asks each service once, for the product that is meant', async () => {
    await page.get('/product-pages/a%2Fb');

    expect(page.stub('catalog').asked).toEqual(['/products/a%2Fb']);
    expect(page.stub('reviews').asked).toEqual(['/products/a%2Fb/summary']);
    expect(page.stub('recommendations').asked).toEqual(['/products/a%2Fb/similar']);
  });

  it.each(['slow', 'hang', 'trickle'] as const)(
    'comes after 300 to 350 ms without parts that it can do without: %s',
    TIMED,
    async (mode) => {
      page.behave({ reviews: mode, recommendations: mode });
      const { status, headers, body, tookMs } = await page.get('/product-pages/7');

      expect(status).toBe(200);
      expect(body).toEqual({ ...whole, reviews: null, similar: [], degraded: ['reviews', 'recommendations'] });
      expect(headers.get('x-degraded')).toBe('reviews=upstream_timeout;300, recommendations=upstream_timeout;300');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.has('etag')).toBe(false);
      expect(tookMs).toBeGreaterThanOrEqual(298);
      expect(tookMs).toBeLessThan(350);
    },
  );

  it.each(['slow', 'hang', 'trickle'] as const)(
    'is 502 after 800 to 850 ms when its product does not come: %s',
    TIMED,
    async (mode) => {
      page.behave({ catalog: mode });
      const { status, body, tookMs } = await page.get('/product-pages/7');

      expect(status).toBe(502);
      expect(body).toEqual(unavailable);
      expect(tookMs).toBeGreaterThanOrEqual(798);
      expect(tookMs).toBeLessThan(850);
    },
  );

  it('is 502 at once when the catalog fails, and ends the other calls', async () => {
    page.behave({ catalog: 'fail', reviews: 'hang' });
    const { status, body } = await page.get('/product-pages/7');

    expect(status).toBe(502);
    expect(body).toEqual(unavailable);
    await vi.waitFor(() => expect(page.stub('reviews').cutOff).toHaveLength(1));
    expect(page.log.lines).toContain('[ProductPageController] catalog: Request failed with status code 500');
  });

  it('is 404 when the catalog says so, with nothing of its words', async () => {
    page.behave({ catalog: 'missing' });
    const { status, body } = await page.get('/product-pages/7');

    expect(status).toBe(404);
    expect(body).toEqual({ message: 'Not Found', statusCode: 404 });
  });

  it('does without a part that fails, whatever it says', async () => {
    page.behave({ reviews: 'fail', recommendations: 'missing' });
    const { status, headers, body } = await page.get('/product-pages/7');

    expect(status).toBe(200);
    expect(body).toMatchObject({ reviews: null, similar: [], degraded: ['reviews', 'recommendations'] });
    expect(headers.get('x-degraded')).toMatch(/^reviews=upstream_error;\d+, recommendations=upstream_error;\d+$/);
  });

  it('writes what is missing to the log, beside the line of its request', TIMED, async () => {
    page.log.lines.length = 0;
    page.behave({ reviews: 'hang' });
    await page.get('/product-pages/7');
    await vi.waitFor(() => expect(page.log.lines).toHaveLength(2));

    expect(page.log.lines).toEqual([
      '[ProductPageController] reviews: no answer within 300ms',
      expect.stringMatching(/^\[HTTP\] GET \/product-pages\/7 200 3\d\dms degraded=\[reviews\]$/),
    ]);
  });

  it('closes the connection of a body that trickles within 50 ms of the limit, in 20 of 20 runs', TIMED, async () => {
    page.behave({ reviews: 'trickle' });
    const { cutOff } = page.stub('reviews');
    cutOff.length = 0;
    for (let run = 1; run <= 20; run++) {
      await page.get('/product-pages/7');
      await vi.waitFor(() => expect(cutOff).toHaveLength(run));
    }

    // The head had been sent at once, and bytes of the body after it.
    for (const { afterMs, bytes } of cutOff) {
      expect(bytes).toBeGreaterThan(5);
      expect(afterMs).toBeGreaterThan(270);
      expect(afterMs).toBeLessThan(350);
    }
  });

  it('ends all its calls when its client leaves', TIMED, async () => {
    const names = ['catalog', 'reviews', 'recommendations'] as const;
    page.behave({ catalog: 'hang', reviews: 'trickle', recommendations: 'hang' });
    for (const name of names) page.stub(name).cutOff.length = 0;
    const client = new AbortController();
    const left = page.get('/product-pages/7', client.signal).catch((error: Error) => error.name);
    await wait(100);
    client.abort();

    expect(await left).toBe('AbortError');
    await vi.waitFor(() => expect(names.map((name) => page.stub(name).cutOff.length)).toEqual([1, 1, 1]));
    for (const name of names) expect(page.stub(name).cutOff[0]?.afterMs).toBeLessThan(250);
    await vi.waitFor(() => expect(page.log.lines.at(-1)).toMatch(/^\[HTTP\] GET \/product-pages\/7 499 \d+ms/));
    expect(page.log.lines.filter((line) => line.includes('ProductPageController'))).toEqual([]);
  });
});

const CHUNK = Buffer.alloc(65_536, 'x');

/** As much as its client takes, for ever. */
function pour(response: ServerResponse): void {
  const go = (): void => {
    while (response.writable && response.write(CHUNK));
  };
  response.on('drain', go);
  go();
}

const NO_ANSWERS: [string, (request: IncomingMessage, response: ServerResponse) => void][] = [
  ['is no JSON', (_request, response) => void response.end('<html>secret-host')],
  ['breaks off within its JSON', (_request, response) => void response.end('{"stars":')],
  ['has no content', (_request, response) => void response.writeHead(204).end()],
  ['is null', (_request, response) => void response.end('null')],
  ['is a number', (_request, response) => void response.end('4.5')],
  ['has no end', (_request, response) => pour(response.writeHead(200))],
  ['is an error without an end', (_request, response) => pour(response.writeHead(500))],
  ['redirects to itself', ({ url }, response) => void response.writeHead(302, { location: url }).end()],
  ['is compressed by its own account only', (_request, response) => compressedWrongly(response)],
  ['is a reset', (_request, response) => void response.socket?.resetAndDestroy()],
  ['is not HTTP', (_request, response) => void response.socket?.end('HELO\r\n\r\n')],
];

function compressedWrongly(response: ServerResponse): void {
  response.writeHead(200, { 'content-encoding': 'gzip' }).end('{}');
}

describe.each(NO_ANSWERS)('An answer that %s', (_what, listener) => {
  let server: Server;
  let open = 0;

  /** The service that answers so, in place of a stub. */
  async function startWith(name: Upstream): Promise<void> {
    server = createServer((request, response) => {
      open += 1;
      response.once('close', () => (open -= 1));
      listener(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await page.stop();
    await page.start({ [name]: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  }

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('is none: the page comes without the part, and says nothing but that', TIMED, async () => {
    await startWith('reviews');
    const { body, headers, status } = await page.get('/product-pages/7');

    expect(status).toBe(200);
    expect(body).toEqual({ ...whole, reviews: null, degraded: ['reviews'] });
    expect(headers.get('x-degraded')).toMatch(/^reviews=upstream_error;\d+$/);
    await vi.waitFor(() => expect(open).toBe(0));
  });

  it('is no product', TIMED, async () => {
    await startWith('catalog');
    const { body, status } = await page.get('/product-pages/7');

    expect(status).toBe(502);
    expect(body).toEqual(unavailable);
    await vi.waitFor(() => expect(open).toBe(0));
  });
});

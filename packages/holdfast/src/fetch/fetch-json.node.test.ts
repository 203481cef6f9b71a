import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { useLoopback } from '../../test/loopback.js';
import { errorOf } from '../../test/outcome.js';
import { fetchJson } from './index.js';

// The platform is the subject: real time, the platform's fetch, real sockets.

const SUITE = { timeout: 30_000 };
const PATIENCE = { timeout: 10_000 };
/** How much later than its limit a call may end on a busy machine, in milliseconds. */
const SLACK = 5_000;
const LIMIT = 400;

const { serve, accept } = useLoopback();

/** Sends so many bytes every few milliseconds, for ever. */
function trickle(response: ServerResponse, bytes: number): void {
  const chunk = ' '.repeat(bytes);
  const interval = setInterval(() => response.write(chunk), 5);
  response.once('close', () => clearInterval(interval));
}

describe('over real sockets, a call', SUITE, () => {
  it('gives the JSON that was sent', async () => {
    const server = await serve((_request, response) => response.end('{"beta":true}'));

    expect(await fetchJson(server.url, {}, '5s')).toMatchObject({ ok: true, value: { beta: true } });
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['says nothing', () => {}],
    ['sends a byte of its head now and then', (response) => trickleHead(response)],
    ['sends its head and never a body', (response) => void response.writeHead(200).write('[')],
    ['sends a byte of its body now and then', (response) => trickle(response, 1)],
  ])('to a server that %s ends at the limit, and the server sees its socket closed', async (_what, answer) => {
    const server = await serve((_request, response) => answer(response));
    const outcome = await fetchJson(server.url, {}, LIMIT);

    expect(outcome).toMatchObject({ ok: false, reason: 'upstream_timeout' });
    expect(outcome.ms).toBeGreaterThanOrEqual(LIMIT - 1);
    expect(outcome.ms).toBeLessThan(LIMIT + SLACK);
    expect(server.connections).toBe(1);
    await expect.poll(() => server.asked.size, PATIENCE).toBe(0);
  });

  it('to a listener that accepts and is silent ends at the limit', async () => {
    const server = await accept();
    const outcome = await fetchJson(server.url, {}, LIMIT);

    expect(outcome).toEqual({ ok: false, reason: 'upstream_timeout', ms: expect.any(Number) });
    expect(outcome.ms).toBeLessThan(LIMIT + SLACK);
    await expect.poll(() => server.asked.size, PATIENCE).toBe(0);
  });

  it('whose TLS handshake hangs ends at the limit', async () => {
    const server = await accept();
    const outcome = await fetchJson(`https://127.0.0.1:${server.port}/`, {}, LIMIT);

    // The platform gives the socket up later, with a limit of its own for connecting.
    expect(outcome).toEqual({ ok: false, reason: 'upstream_timeout', ms: expect.any(Number) });
    expect(outcome.ms).toBeLessThan(LIMIT + SLACK);
    expect(server.connections).toBe(1);
  });

  it('that its caller gives up closes its socket', async () => {
    const server = await serve(() => {});
    const caller = new AbortController();
    const call = fetchJson(server.url, { signal: caller.signal }, '30s');
    await expect.poll(() => server.asked.size, PATIENCE).toBe(1);
    caller.abort();

    expect(await call).toMatchObject({ reason: 'client_abort' });
    await expect.poll(() => server.asked.size, PATIENCE).toBe(0);
  });

  it('to a port where nobody listens is an error of the upstream', async () => {
    const server = await serve(() => {});
    const { url } = server;
    await server.stop();
    const outcome = await fetchJson(url, {}, '5s');

    expect(outcome).toMatchObject({ ok: false, reason: 'upstream_error' });
    expect(outcome).toHaveProperty('cause.cause.code', 'ECONNREFUSED');
    expect(JSON.stringify(outcome)).not.toContain('127.0.0.1');
  });

  it('that is reset in the middle of its answer is one too', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('[', () => response.socket?.resetAndDestroy());
    });

    expect(await fetchJson(server.url, {}, '5s')).toMatchObject({ ok: false, reason: 'upstream_error', status: 200 });
  });
});

describe('redirects', SUITE, () => {
  it('are within the limit, each of them', async () => {
    const server = await serve((request, response) => {
      const hop = Number(request.url?.slice(1));
      setTimeout(() => response.writeHead(302, { location: `/${hop + 1}` }).end(), 40);
    });
    const outcome = await fetchJson(`${server.url}/1`, {}, LIMIT);

    expect(outcome).toEqual({ ok: false, reason: 'upstream_timeout', ms: expect.any(Number) });
    expect(outcome.ms).toBeLessThan(LIMIT + SLACK);
  });

  it('that lead back to where they began are an error of the upstream, before the limit', async () => {
    let hops = 0;
    const server = await serve((_request, response) => {
      hops += 1;
      response.writeHead(302, { location: '/again' }).end();
    });
    const outcome = await fetchJson(server.url, {}, '30s');

    expect(outcome).toMatchObject({ ok: false, reason: 'upstream_error' });
    expect(outcome.ms).toBeLessThan(10_000);
    expect(hops).toBeLessThan(50);
  });
});

describe('an answer that is not ok', SUITE, () => {
  it('gives its connection back: a hundred of them leave no open socket more', async () => {
    const server = await serve((_request, response) => response.writeHead(503).end('x'.repeat(10_000)));
    for (let call = 0; call < 100; call++) {
      expect(await fetchJson(server.url, {}, '5s')).toMatchObject({ reason: 'upstream_error', status: 503 });
    }

    // Now and then the platform opens a second one, before it notices that the first is free again.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  it('and too large to be drained is given up, and its socket closed, also when many come at once', async () => {
    const server = await serve((_request, response) => response.writeHead(500).end('x'.repeat(1_000_000)));
    const calls = Array.from({ length: 20 }, () => fetchJson(server.url, {}, '20s'));
    for (const outcome of await Promise.all(calls)) expect(outcome).toMatchObject({ status: 500 });

    await expect.poll(() => server.asked.size, PATIENCE).toBe(0);
  });

  it('and has no end is given up long before the limit, and its socket closed', async () => {
    const server = await serve((_request, response) => trickle(response.writeHead(500), 4_096));
    const outcome = await fetchJson(server.url, {}, '30s');

    expect(outcome).toMatchObject({ ok: false, reason: 'upstream_error', status: 500 });
    expect(outcome.ms).toBeLessThan(10_000);
    await expect.poll(() => server.asked.size, PATIENCE).toBe(0);
  });

  it('and stalls is given up at the limit, with its status and headers', async () => {
    const server = await serve(
      (_request, response) => void response.writeHead(404, { 'x-missing': 'order' }).write('no'),
    );
    const outcome = await fetchJson(server.url, {}, LIMIT);

    expect(outcome).toEqual({ ok: false, reason: 'upstream_error', ms: expect.any(Number), status: 404 });
    expect(!outcome.ok && outcome.headers?.get('x-missing')).toBe('order');
    await expect.poll(() => server.asked.size, PATIENCE).toBe(0);
  });
});

describe('an event loop that was held beyond the limit', SUITE, () => {
  it('makes an answer that has arrived meanwhile a timeout', async () => {
    const server = await serve((_request, response) => {
      response.end('"late"');
      const until = performance.now() + 300;
      while (performance.now() < until);
    });
    const call = fetchJson(server.url, {}, 100);

    expect(await call).toMatchObject({ ok: false, reason: 'upstream_timeout' });
  });
});

describe('a body that was read by an earlier attempt', SUITE, () => {
  const bodies: [string, () => unknown][] = [
    ['a stream of the platform', () => new Blob(['{}']).stream()],
    ['a stream of Node', () => Readable.from([Buffer.from('{}')])],
    [
      'a generator',
      async function* () {
        yield Buffer.from('{}');
      },
    ],
  ];

  it.each(bodies)('is not sent as an empty one: %s', async (_what, make) => {
    const received: string[] = [];
    const server = await serve((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        received.push(text);
        response.writeHead(503).end();
      });
    });
    const init = { method: 'POST', body: make(), duplex: 'half' } as RequestInit;

    expect(await fetchJson(server.url, init, '5s')).toMatchObject({ status: 503 });
    const error = await errorOf(fetchJson(server.url, init, '5s'));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain('Build the body inside the function that is retried');
    expect(received).toEqual(['{}']);
  });

  it('is known also when it was read elsewhere, to its end, and let go of', async () => {
    const server = await serve((_request, response) => response.end('1'));
    const stream = new Blob(['{}']).stream();
    const reader = stream.getReader();
    while (!(await reader.read()).done);
    reader.releaseLock();
    expect(stream.locked).toBe(false);

    const init = { method: 'POST', body: stream, duplex: 'half' } as RequestInit;
    expect(String(await errorOf(fetchJson(server.url, init, '5s')))).toContain('init.body: this stream has been read');

    const request = new Request(server.url, { method: 'POST', body: '{}' });
    expect(await fetchJson(request, {}, '5s')).toMatchObject({ ok: true });
    expect(String(await errorOf(fetchJson(request, {}, '5s')))).toContain('url: the body of this Request');
    expect(server.connections).toBe(1);
  });
});

describe('two hundred calls on one long-lived signal', SUITE, () => {
  it('leave no listener on it and no warning', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warn);
    const server = await serve((request, response) => {
      if (request.url === '/hang') return;
      response.writeHead(request.url === '/503' ? 503 : 200).end('1');
    });
    const { signal } = new AbortController();
    const paths = ['/200', '/503', '/200', '/200', '/hang'];
    for (let round = 0; round < 4; round++) {
      const calls = Array.from({ length: 50 }, (_, index) =>
        fetchJson(server.url + paths[index % 5], { signal }, index % 5 === 4 ? 20 : '20s'),
      );
      expect(getEventListeners(signal, 'abort').length).toBe(1);
      await Promise.all(calls);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }
    process.off('warning', warn);

    expect(warnings).toEqual([]);
  });
});

/** A byte of the head every few milliseconds, for ever. */
function trickleHead(response: ServerResponse): void {
  const { socket } = response;
  socket?.write('HTTP/1.1 200 OK\r\nx-slow: ');
  const interval = setInterval(() => socket?.write('x'), 5);
  response.once('close', () => clearInterval(interval));
}

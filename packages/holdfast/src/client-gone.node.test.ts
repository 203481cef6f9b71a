import { once } from 'node:events';
import { Agent, get, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect as connectHttp2, constants, createServer as createHttp2Server, type Http2Server } from 'node:http2';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { useLoopback } from '../test/loopback.js';
import { fetchJson } from './fetch/index.js';
import { clientGone, ClientDisconnectedError } from './index.js';

// The platform is the subject: real time and real sockets.

const SUITE = { timeout: 30_000 };
const PATIENCE = { timeout: 10_000 };
const { serve } = useLoopback();

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

describe('over HTTP/1.1, the signal of a request', SUITE, () => {
  it('aborts when the client leaves, although the request was closed long before', async () => {
    const signals: AbortSignal[] = [];
    const server = await serve(async (request, response) => {
      expect(await readBody(request)).toBe('{}');
      await new Promise((resolve) => setImmediate(resolve));
      expect(request.destroyed).toBe(true);
      signals.push(clientGone(request, response));
    });
    const client = ask({ port: server.port, host: '127.0.0.1', method: 'POST' }).on('error', () => {});
    client.end('{}');
    await expect.poll(() => signals.length, PATIENCE).toBe(1);
    expect(signals[0]?.aborted).toBe(false);
    client.destroy();

    await expect.poll(() => signals[0]?.aborted, PATIENCE).toBe(true);
    expect(signals[0]?.reason).toBeInstanceOf(ClientDisconnectedError);
  });

  it('has aborted when the client had left before the handler asks', async () => {
    let signal: AbortSignal | undefined;
    const server = await serve(async (request, response) => {
      await once(response, 'close');
      await new Promise((resolve) => setTimeout(resolve, 20));
      signal = clientGone(request, response);
      expect(response.listenerCount('close')).toBe(0);
    });
    const client = get({ port: server.port, host: '127.0.0.1' }).on('error', () => {});
    await expect.poll(() => server.asked.size, PATIENCE).toBe(1);
    client.destroy();

    await expect.poll(() => signal?.aborted, PATIENCE).toBe(true);
  });

  it('is each request’s own on a connection that is kept, and leaves no listener there', async () => {
    const seen: { signal: AbortSignal; response: ServerResponse }[] = [];
    const server = await serve((request, response) => {
      seen.push({ signal: clientGone(request, response), response });
      if (request.url !== '/hang') response.end('answer');
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let nth = 0; nth < 3; nth++) {
      const [answer] = (await once(get({ port: server.port, host: '127.0.0.1', agent }), 'response')) as [
        IncomingMessage,
      ];
      await readBody(answer);
    }
    const last = get({ port: server.port, host: '127.0.0.1', agent, path: '/hang' }).on('error', () => {});
    await expect.poll(() => seen.length, PATIENCE).toBe(4);
    const before = seen[3]?.response.socket?.listenerCount('close');
    last.destroy();
    await expect.poll(() => seen[3]?.signal.aborted, PATIENCE).toBe(true);
    agent.destroy();

    expect(server.connections).toBe(1);
    expect(seen.map(({ signal }) => signal.aborted)).toEqual([false, false, false, true]);
    expect(seen.map(({ response }) => response.listenerCount('close'))).toEqual([0, 0, 0, 0]);
    expect(before).toBeLessThan(6);
  });

  it('aborts for those that the client has sent ahead too', async () => {
    const signals: AbortSignal[] = [];
    const server = await serve((request, response) => void signals.push(clientGone(request, response)));
    const client = connect(server.port, '127.0.0.1', () => {
      client.write('GET /1 HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(3));
    });
    await expect.poll(() => signals.length, PATIENCE).toBe(3);
    client.destroy();

    await expect.poll(() => signals.map(({ aborted }) => aborted), PATIENCE).toEqual([true, true, true]);
  });
});

describe('over HTTP/2, the signal of a request', SUITE, () => {
  const servers: Http2Server[] = [];
  afterEach(() => servers.splice(0).forEach((server) => void server.close()));

  it('aborts when its stream is cut, and only then', async () => {
    const signals: Record<string, AbortSignal> = {};
    const server = createHttp2Server((request, response) => {
      signals[request.url] = clientGone(request, response);
      if (request.url === '/fine') response.end('answer');
    });
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const fine = client.request({ ':path': '/fine' }).resume();
    await once(fine, 'close');
    const cut = client.request({ ':path': '/cut' }).on('error', () => {});
    await expect.poll(() => signals['/cut'], PATIENCE).toBeDefined();
    cut.close(constants.NGHTTP2_CANCEL);

    await expect.poll(() => signals['/cut']?.aborted, PATIENCE).toBe(true);
    expect(signals['/fine']?.aborted).toBe(false);
    client.destroy();
  });
});

describe('an upstream whose caller gives up', SUITE, () => {
  it('stops working when it looks at the signal of the request, and works on when it does not', async () => {
    const begun: string[] = [];
    const done: string[] = [];
    const server = await serve((request, response) => {
      const path = request.url ?? '';
      const signal = path === '/attentive' ? clientGone(request, response) : undefined;
      const work = setTimeout(() => done.push(path), 300);
      signal?.addEventListener('abort', () => clearTimeout(work), { once: true });
      begun.push(path);
    });
    const caller = new AbortController();
    const calls = ['/attentive', '/deaf'].map((path) => fetchJson(server.url + path, { signal: caller.signal }, '1m'));
    await expect.poll(() => begun.length, PATIENCE).toBe(2);
    caller.abort();
    await expect.poll(() => done, PATIENCE).toEqual(['/deaf']);
    await new Promise((resolve) => setTimeout(resolve, 100));

    expect((await Promise.all(calls)).map(({ ok }) => ok)).toEqual([false, false]);
    expect(done).toEqual(['/deaf']);
  });
});

import { once } from 'node:events';
import { Agent, get, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  connect as connectHttp2,
  constants,
  createServer as createHttp2Server,
  type ClientHttp2Stream,
  type Http2Server,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { useLoopback } from '../test/loopback.js';
import { fetchJson } from './fetch/index.js';
import { clientGone, ClientDisconnectedError } from './index.js';

// The platform is the subject: real time and real sockets.

const SUITE = { timeout: 30_000 };
const PATIENCE = { timeout: 10_000 };
/** More than a connection holds on its way, and less than a session of HTTP/2 may hold. */
const LARGE = 'x'.repeat(9_000_000);
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

  it('aborts for an answer that is complete, but waits behind another one', async () => {
    const signals: AbortSignal[] = [];
    const server = await serve((request, response) => {
      signals.push(clientGone(request, response));
      if (request.url === '/2') response.end('answer');
    });
    const client = connect(server.port, '127.0.0.1', () => {
      client.write('GET /1 HTTP/1.1\r\nhost: x\r\n\r\nGET /2 HTTP/1.1\r\nhost: x\r\n\r\n');
    });
    await expect.poll(() => signals.length, PATIENCE).toBe(2);
    client.destroy();

    await expect.poll(() => signals.map(({ aborted }) => aborted), PATIENCE).toEqual([true, true]);
  });

  it('aborts while the answer is being sent, also when all of it was written', async () => {
    const signals: AbortSignal[] = [];
    const server = await serve((request, response) => {
      signals.push(clientGone(request, response));
      if (request.url === '/events') response.write('data: first\n\n');
      else response.end(LARGE.repeat(3));
    });
    const clients = ['/events', '/large'].map((path) =>
      get({ port: server.port, host: '127.0.0.1', path }).on('error', () => {}),
    );
    await Promise.all(clients.map((client) => once(client, 'response')));
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    clients.forEach((client) => client.destroy());

    await expect.poll(() => signals.map(({ aborted }) => aborted), PATIENCE).toEqual([true, true]);
  });

  it('aborts although nobody has read the body of the request', async () => {
    const signals: AbortSignal[] = [];
    const server = await serve((request, response) => void signals.push(clientGone(request, response)));
    for (const body of ['', 'some', 'complete!!']) {
      const client = connect(server.port, '127.0.0.1', () => {
        client.write(`GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n${body}`);
      });
      const count = signals.length + 1;
      await expect.poll(() => signals.length, PATIENCE).toBe(count);
      client.destroy();
      await expect.poll(() => signals[count - 1]?.aborted, PATIENCE).toBe(true);
    }
  });

  it('aborts for one whose body is larger than what Node takes in unread, at the latest when that is read', async () => {
    const served: { request: IncomingMessage; signal: AbortSignal }[] = [];
    const server = await serve((request, response) => {
      request.on('error', () => {});
      served.push({ request, signal: clientGone(request, response) });
    });
    const client = ask({ port: server.port, host: '127.0.0.1', method: 'POST' }).on('error', () => {});
    client.write(LARGE);
    await expect.poll(() => served.length, PATIENCE).toBe(1);
    client.destroy();
    await new Promise((resolve) => setTimeout(resolve, 20));
    served[0]?.request.resume();

    await expect.poll(() => served[0]?.signal.aborted, PATIENCE).toBe(true);
  });

  it('can be asked for by many handlers of many requests at once, without a warning of Node', async () => {
    const warn = vi.fn();
    process.on('warning', warn);
    onTestFinished(() => void process.off('warning', warn));
    const responses: ServerResponse[] = [];
    const sockets = new Set<Socket>();
    const server = await serve((request, response) => {
      responses.push(response);
      sockets.add(request.socket);
      for (let nth = 0; nth < 20; nth++) clientGone(request, response);
      if (responses.length === 20) responses.forEach((one) => one.end('answer'));
    });
    const client = connect(server.port, '127.0.0.1', () =>
      client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(20)),
    );
    client.resume();
    await expect.poll(() => responses.filter(({ closed }) => closed).length, PATIENCE).toBe(20);

    expect(sockets.size).toBe(1);
    expect(responses.map((response) => response.listenerCount('close'))).toEqual(new Array<number>(20).fill(0));
    expect(warn).not.toHaveBeenCalled();
    client.destroy();
  });
});

describe('over HTTP/2, the signal of a request', SUITE, () => {
  const servers: Http2Server[] = [];
  afterEach(() => servers.splice(0).forEach((server) => void server.close()));
  const begin = async () => {
    const signals: Record<string, AbortSignal> = {};
    const server = createHttp2Server((request, response) => {
      signals[request.url] = clientGone(request, response);
      if (request.url === '/fine') response.end('answer');
      if (request.url === '/events') response.write('data: first\n\n');
      if (request.url === '/large') response.end(LARGE);
    });
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).on('error', () => {});
    onTestFinished(() => client.destroy());
    const request = async (path: string, headers: OutgoingHttpHeaders = {}): Promise<ClientHttp2Stream> => {
      const stream = client.request({ ...headers, ':path': path }).on('error', () => {});
      await expect.poll(() => signals[path], PATIENCE).toBeDefined();
      return stream;
    };

    return { signals, client, request };
  };
  const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants;

  it.each([
    ['before its answer', '/cut', NGHTTP2_CANCEL],
    ['before its answer, without an error', '/cut', NGHTTP2_NO_ERROR],
    ['while its answer is being sent', '/events', NGHTTP2_CANCEL],
    ['while its answer is being sent, all of which was written', '/large', NGHTTP2_CANCEL],
  ])('aborts when its stream is cut %s, and only then', async (_when, path, code) => {
    const { signals, client, request } = await begin();
    const fine = (await request('/fine')).resume();
    await once(fine, 'close');
    const cut = await request(path);
    await request('/other');
    cut.close(code);

    await expect.poll(() => signals[path]?.aborted, PATIENCE).toBe(true);
    expect(signals['/fine']?.aborted).toBe(false);
    expect(signals['/other']?.aborted).toBe(false);
    expect(client.destroyed).toBe(false);
  });

  it('aborts with all others when the connection closes', async () => {
    const { signals, client, request } = await begin();
    await request('/one');
    await request('/two');
    client.destroy();

    await expect.poll(() => Object.values(signals).map(({ aborted }) => aborted), PATIENCE).toEqual([true, true]);
  });

  it('aborts although nobody has read the body of the request, however large', async () => {
    const { signals, request } = await begin();
    const stream = await request('/posted', { ':method': 'POST' });
    stream.write(LARGE);
    await new Promise((resolve) => setTimeout(resolve, 20));
    stream.close(NGHTTP2_CANCEL);

    await expect.poll(() => signals['/posted']?.aborted, PATIENCE).toBe(true);
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

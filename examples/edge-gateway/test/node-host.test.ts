import {
  createServer,
  type ClientRequest,
  request as requestOverHttp,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startServices, type Services } from '../e2e/services.js';
import { createNodeServer } from '../hosts/node.js';
import { close, listen } from '../launch/listening.js';
import { readSettings } from '../lib/settings.js';
import { until } from './upstreams.js';

let services: Services;
let gateway: URL;
let server: Server;

async function start(origin: RequestListener): Promise<void> {
  services = await startServices(createServer(origin));
  const { variables } = services;
  server = createNodeServer(
    readSettings((name) => variables[name]),
    new URL(variables['ORIGIN_URL'] ?? ''),
  );
  gateway = await listen(server);
  holdTime();
}

afterEach(async () => {
  vi.useRealTimers();
  await close(server);
  await services.stop();
});

interface Received {
  readonly head: IncomingMessage;
  readonly body: Buffer;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** As little between us and the bytes as there can be. */
function send(path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Received> {
  return new Promise((resolve, reject) => {
    const { port } = gateway;
    const authorization = `Bearer ${services.token}`;
    const outgoing = requestOverHttp({ port, path, method, headers: { authorization, ...headers }, agent: false });
    outgoing.on('error', reject);
    outgoing.on('response', (head) => {
      const chunks: Buffer[] = [];
      head.on('data', (chunk: Buffer) => chunks.push(chunk));
      head.on('error', reject);
      head.on('end', () => resolve({ head, body: Buffer.concat(chunks) }));
    });
    outgoing.end(body);
  });
}

/** The lines in the log. */
function reports(): unknown[] {
  const lines: unknown[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(JSON.parse(line)));

  return lines;
}

/** Keeps limits from ending what a busy machine does slowly: only sockets go on. */
function holdTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
}

function leavingClient(): ClientRequest {
  const headers = { authorization: `Bearer ${services.token}` };
  const client = requestOverHttp(new URL('/app/cart', gateway), { headers, agent: false });
  client.on('error', () => {}).end();

  return client;
}

describe('an answer of the origin', () => {
  it('passes byte for byte, compressed ones included', async () => {
    const packed = gzipSync('page '.repeat(1_000));
    await start((_request, response) => {
      response.writeHead(203, 'Seen elsewhere', [
        ['content-encoding', 'gzip'],
        ['content-length', `${packed.length}`],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['x-name', 'caf\u00E9'],
      ]);
      response.end(packed);
    });
    const { head, body } = await send('/app/cart', { headers: { 'accept-encoding': 'gzip' } });

    expect([head.statusCode, head.statusMessage]).toEqual([203, 'Seen elsewhere']);
    expect(head.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-length': `${packed.length}`,
      'set-cookie': ['a=1', 'b=2'],
      'x-name': 'caf\u00E9',
      'x-flags': 'new-cart',
    });
    expect(body.equals(packed)).toBe(true);
  });

  it.each([
    ['GET', 304],
    ['GET', 204],
    ['HEAD', 200],
    ['GET', 302],
  ])('of %s with %d and no body passes', async (method, status) => {
    await start((_request, response) => response.writeHead(status, { etag: '"1"', location: '/x' }).end());
    const { head, body } = await send('/app/cart', { method });

    expect([head.statusCode, head.headers.etag, head.headers.location, body.length]).toEqual([status, '"1"', '/x', 0]);
  });

  it('streams: its beginning arrives before its end was written', async () => {
    let finish = (): void => {};
    await start((_request, response) => {
      response.write('first half');
      finish = () => response.end('second half');
    });
    const answer = await fetch(new URL('/app/cart', gateway), {
      headers: { authorization: `Bearer ${services.token}` },
    });
    const reader = answer.body?.getReader();

    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first half');
    finish();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('second half');
  });

  it('that breaks off breaks off for the client, too', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    await start((_request, response) => {
      response.write('first half', () => response.destroy());
    });

    await expect(send('/app/cart')).rejects.toThrow('aborted');
  });

  it('is 502 when there is none', async () => {
    await start((request) => request.socket.destroy());
    const { head } = await send('/app/cart');

    expect([head.statusCode, head.headers['cache-control']]).toEqual([502, 'no-store']);
  });

  it('is not cut when it takes longer than the budget', async () => {
    let answerOrigin: (() => void) | undefined;
    await start((_request, response) => (answerOrigin = () => response.end('late')));
    const answer = send('/app/cart');
    await until(() => answerOrigin !== undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    answerOrigin?.();
    const { head, body } = await answer;

    expect([head.statusCode, body.toString(), head.headers['x-edge-degraded']]).toEqual([200, 'late', undefined]);
  });
});

describe('a request', () => {
  it('reaches the origin with its method, its query, its headers and its body', async () => {
    await start((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method, url, headers } = request;
        response.end(JSON.stringify({ method, url, name: headers['x-name'], body: Buffer.concat(chunks).toString() }));
      });
    });
    const { body } = await send('/app/cart?a=1&b=%20', { method: 'PUT', headers: { 'x-name': 'n' }, body: '{"a":1}' });

    expect(JSON.parse(body.toString())).toEqual({
      method: 'PUT',
      url: '/app/cart?a=1&b=%20',
      name: 'n',
      body: '{"a":1}',
    });
  });

  it.each([
    ['/app/health', 200, 'past'],
    ['/app/assets/logo.png', 200, 'past'],
    ['/app/assets/..%2Fcart', 401, 'into'],
    ['/app/assets/%2e%2e/cart', 401, 'into'],
    ['/app/healthy', 401, 'into'],
    ['/app/', 401, 'into'],
    ['/app', 404, 'nowhere near'],
    ['/admin/../app2', 404, 'nowhere near'],
    ['//elsewhere.test/app/', 404, 'nowhere near'],
  ])('without a token for %s is answered with %d: it goes %s the gateway', async (path, status) => {
    await start((_request, response) => response.end('page'));
    const { head } = await send(path, { headers: { authorization: '' } });

    expect(head.statusCode).toBe(status);
  });

  it('that is none is answered with 400', async () => {
    await start((_request, response) => response.end('page'));
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(gateway.port), '127.0.0.1', () => {
        socket.write('GET http://elsewhere.test/app/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      });
      socket.once('data', (data) => resolve(data.toString()));
    });

    expect(answer).toMatch(/^HTTP\/1.1 400 /);
  });
});

describe('a client that leaves', () => {
  it.each(['auth', 'flags'] as const)('ends the call to %s, whatever was collected meanwhile', async (name) => {
    let asked = 0;
    await start((_request, response) => {
      asked += 1;
      response.end('page');
    });
    const lines = reports();
    services[name].delayMs = Infinity;
    const client = leavingClient();
    await until(() => services[name].seen.requests === 1);
    globalThis.gc?.();
    client.destroy();
    await until(() => lines.length === 1);

    expect(lines).toMatchObject([{ reason: 'client_abort', waitedMs: 0 }]);
    await until(() => services[name].seen.cancelled === 1);
    expect(asked).toBe(0);
  });

  it.each(['before its answer', 'in the middle of its answer'])('%s ends the call to the origin', async (when) => {
    let left = 0;
    let came = 0;
    await start((_request, response) => {
      came += 1;
      if (when !== 'before its answer') response.write('first half');
      response.once('close', () => (left += 1));
    });
    const client = leavingClient();
    const begun = new Promise((resolve) =>
      client.once('response', (head) => head.on('error', () => {}).once('data', resolve)),
    );
    await until(() => came === 1);
    if (when !== 'before its answer') await begun;
    globalThis.gc?.();
    client.destroy();

    await until(() => left === 1);
  });
});

describe('steps that hang', () => {
  it('end every call that they made', async () => {
    await start((_request, response) => response.end('page'));
    const lines = reports();
    services.flags.delayMs = Infinity;
    const answers = Array.from({ length: 20 }, () => send('/app/cart'));
    await until(() => services.flags.seen.requests === 20);
    vi.advanceTimersByTime(250);
    const statuses = (await Promise.all(answers)).map(({ head }) => head.statusCode);

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(lines).toHaveLength(20);
    await until(() => services.flags.seen.cancelled === 20);
  });
});

import { once } from 'node:events';
import { createServer, get, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ClientDisconnectedError, Deadline } from 'holdfast';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { getFlags, getFlagsOrFail, getFlagsWithin, putOrder, putOrderOnce, serveReports } from './http-clients.js';

const running: Server[] = [];

async function listen(server: Server): Promise<string> {
  running.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');

  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The service that takes orders. */
async function serve(listener: RequestListener): Promise<void> {
  const url = await listen(createServer(listener));
  vi.stubEnv('ORDERS_URL', url);
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  for (const server of running.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** Limits are not what the test is about: they shall not cut an answer that a busy machine takes its time with. */
const stopClock = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });

const never = new AbortController().signal;

describe('the page on HTTP clients shows', () => {
  it('a call that gives a value, or goes on without', async () => {
    stopClock();
    vi.stubGlobal('fetch', async () => Response.json({ beta: true }));
    expect(await getFlags(never)).toEqual({ beta: true });

    vi.stubGlobal('fetch', async () => Response.json({ beta: true }, { status: 500 }));
    expect(await getFlags(never)).toEqual({});
    expect(await getFlags(AbortSignal.abort())).toEqual({});
  });

  it('a call under policies', async () => {
    const fetched = vi.fn(async () =>
      Response.json({ beta: true }, { status: fetched.mock.calls.length > 1 ? 200 : 503 }),
    );
    vi.stubGlobal('fetch', fetched);

    expect(await getFlagsOrFail()).toEqual({ beta: true });
    expect(fetched).toHaveBeenCalledTimes(2);
  });

  it('a call that leaves something of its deadline, and a line in the log', async () => {
    stopClock();
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const fetched = vi.fn(async () => Response.json({ beta: true }));
    vi.stubGlobal('fetch', fetched);

    expect(await getFlagsWithin(Deadline.after('10s'))).toEqual({ beta: true });
    expect(await getFlagsWithin(Deadline.after('800ms'))).toEqual({});
    expect(fetched).toHaveBeenCalledTimes(1);
    expect(JSON.parse(String(log.mock.calls[0]?.[0]))).toMatchObject({
      event: 'edge.timeout',
      step: 'flags',
      reason: 'budget_exhausted',
      waitedMs: 0,
      policy: 'open',
    });
  });

  it('a body that each attempt has anew, and one that the second attempt finds read', async () => {
    const bodies: string[] = [];
    await serve(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      bodies.push(text);
      response.writeHead(bodies.length % 2 === 1 ? 503 : 200).end('"taken"');
    });
    const lines = (): ReadableStream => new Blob(['two lines']).stream();

    expect(await putOrder('1001', lines)).toBe('taken');
    expect(bodies).toEqual(['two lines', 'two lines']);
    await expect(putOrderOnce('1001', lines)).rejects.toThrow('Build the body inside the function that is retried');
    expect(bodies).toEqual(['two lines', 'two lines', 'two lines']);
  });

  it('a handler that stops when its client has gone', async () => {
    const signals: AbortSignal[] = [];
    const url = await listen(
      serveReports((signal) => {
        signals.push(signal);
        return signals.length === 1
          ? Promise.resolve({ pages: 2 })
          : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }),
    );
    expect(await (await fetch(url)).json()).toEqual({ pages: 2 });

    const client = get(url).on('error', () => {});
    await expect.poll(() => signals.length, { timeout: 5_000 }).toBe(2);
    client.destroy();
    await expect.poll(() => signals[1]?.reason, { timeout: 5_000 }).toBeInstanceOf(ClientDisconnectedError);
    expect(signals[0]?.aborted).toBe(false);
  });
});

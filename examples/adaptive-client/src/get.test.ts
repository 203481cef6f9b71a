import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { get, StatusError } from './get.js';
import { close, listen } from './stubs/listening.js';

let server: Server | undefined;

afterEach(async () => {
  const used = server;
  if (used) await close(used, () => used.closeAllConnections());
  server = undefined;
});

async function serve(answer: RequestListener): Promise<URL> {
  server = createServer(answer);
  return listen(server);
}

const { signal } = new AbortController();

describe('a GET', () => {
  it('gives the text of the answer', async () => {
    const url = await serve((request, response) => response.end(`at ${request.url}`));

    expect(await get(new URL('/quotes?id=1', url), { signal })).toBe('at /quotes?id=1');
  });

  it.each([400, 404, 503])('fails with the status of an answer of %i', async (status) => {
    const url = await serve((_request, response) => response.writeHead(status).end());
    const failure = await get(url, { signal }).catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(StatusError);
    expect(failure).toMatchObject({ status, message: `The server answered with status ${status}` });
  });

  it('fails with the error of the socket when nobody listens', async () => {
    const url = await serve(() => {});
    server?.close();

    await expect(get(url, { signal })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('ends in the middle of an answer when its signal aborts, and hangs up', async () => {
    const aborter = new AbortController();
    let hungUp: Promise<unknown> | undefined;
    const url = await serve((_request, response) => {
      hungUp = once(response, 'close');
      response.write('the first half');
      setTimeout(() => aborter.abort(), 20);
    });

    await expect(get(url, { signal: aborter.signal })).rejects.toThrow();
    await hungUp;
  });
});

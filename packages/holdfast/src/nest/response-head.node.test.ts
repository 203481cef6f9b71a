import { createServer, request, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { beforeHead } from './response-head.js';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

interface Head {
  readonly status: number;
  readonly message: string;
  readonly headers: IncomingHttpHeaders;
}

/** The head that a server sends which answers like this. */
async function headOf(answer: (response: ServerResponse) => void): Promise<Head> {
  server = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return new Promise((resolve, reject) => {
    const outgoing = request({ port, agent: false }, (response) => {
      response.resume();
      const { statusCode: status = 0, statusMessage: message = '', headers } = response;
      response.once('end', () => resolve({ status, message, headers }));
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

const editTag = (response: ServerResponse): void => {
  beforeHead(response, (head) => {
    const tag = head.getHeader('etag');
    head.removeHeader('etag');
    head.setHeader('x-seen', String(tag));
  });
};

describe('the last word on the head of a response', () => {
  it('comes after headers that are set later', async () => {
    const { headers } = await headOf((response) => {
      editTag(response);
      response.setHeader('ETag', '"later"');
      response.end('body');
    });

    expect(headers).not.toHaveProperty('etag');
    expect(headers['x-seen']).toBe('"later"');
  });

  it.each([
    ['an object', { ETag: '"given"', 'Set-Cookie': ['a=1', 'b=2'], 'X-None': undefined }],
    ['a flat list', ['ETag', '"given"', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2']],
    [
      'a list of pairs',
      [
        ['ETag', '"given"'],
        ['Set-Cookie', ['a=1', 'b=2']],
      ],
    ],
  ])('comes after headers that are given with the head: %s', async (_case, given) => {
    const { status, message, headers } = await headOf((response) => {
      editTag(response);
      response.setHeader('Set-Cookie', 'old=1');
      response.writeHead(203, 'As told', given as never).end('body');
    });

    expect([status, message]).toEqual([203, 'As told']);
    expect(headers).not.toHaveProperty('etag');
    expect(headers['x-seen']).toBe('"given"');
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(headers).not.toHaveProperty('x-none');
  });

  it('is had once for each who asks, the last one first', async () => {
    const order: string[] = [];
    await headOf((response) => {
      beforeHead(response, () => void order.push('first'));
      beforeHead(response, () => void order.push('second'));
      response.write('a');
      response.end('b');
    });

    expect(order).toEqual(['second', 'first']);
  });

  it('leaves a head alone that was sent before', async () => {
    let edited = false;
    const { headers } = await headOf((response) => {
      response.flushHeaders();
      beforeHead(response, () => (edited = true));
      response.end();
    });

    expect(edited).toBe(false);
    expect(headers).not.toHaveProperty('x-seen');
  });

  it('lets Node refuse a second head as ever', async () => {
    let refusal: unknown;
    await headOf((response) => {
      editTag(response);
      response.writeHead(200);
      try {
        response.writeHead(200);
      } catch (error) {
        refusal = error;
      }
      response.end();
    });

    expect(refusal).toMatchObject({ code: 'ERR_HTTP_HEADERS_SENT' });
  });

  it('cannot be had of something that is no response', () => {
    expect(() => beforeHead({} as ServerResponse, () => {})).not.toThrow();
  });
});

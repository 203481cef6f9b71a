import {
  createServer,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { degradedMarksOf, markDegraded } from './degraded-marks.js';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

const CONDITIONS = { 'if-none-match': '"a"', 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT', 'if-match': '"b"' };

/** The head of what a server answers with. */
async function headOf(
  answer: (response: ServerResponse, request: IncomingMessage) => void,
): Promise<IncomingHttpHeaders> {
  server = createServer((incoming, response) => answer(response, incoming));
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return new Promise((resolve, reject) => {
    const outgoing = request({ port, agent: false, headers: CONDITIONS }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.headers));
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

describe('marks of a degraded answer', () => {
  it('replace the headers of whole answers, also those that are set later', async () => {
    const headers = await headOf((response) => {
      response.setHeader('ETag', '"a"');
      markDegraded(response, () => ({ 'x-degraded': 'reviews=upstream_error;3', 'cache-control': 'no-store' }));
      response.setHeader('Cache-Control', 'public');
      response.setHeader('CDN-Cache-Control', 'max-age=60');
      response.writeHead(200, { 'Last-Modified': 'Thu, 01 Jan 1970 00:00:00 GMT', 'X-Other': 'stays' }).end();
    });

    expect(headers).toMatchObject({ 'x-degraded': 'reviews=upstream_error;3', 'cache-control': 'no-store' });
    expect(headers['x-other']).toBe('stays');
    for (const name of ['etag', 'last-modified', 'cdn-cache-control']) expect(headers).not.toHaveProperty(name);
  });

  it('are those of the moment when the head leaves', async () => {
    let marks = { 'x-degraded': 'one=budget;1' };
    const headers = await headOf((response) => {
      markDegraded(response, () => marks);
      marks = { 'x-degraded': 'one=budget;1, two=budget;1' };
      response.end();
    });

    expect(headers['x-degraded']).toBe('one=budget;1, two=budget;1');
  });

  it('are the first, of several', async () => {
    const headers = await headOf((response) => {
      markDegraded(response, () => ({ 'x-degraded': 'first' }));
      markDegraded(response, () => ({ 'x-degraded': 'second', 'x-other': 'second' }));
      response.end();
    });

    expect([headers['x-degraded'], headers['x-other']]).toEqual(['first', undefined]);
  });

  it('take the conditions that a stored answer would be compared by from the request, and no other', async () => {
    let left: readonly string[] = [];
    await headOf((response, { headers }) => {
      markDegraded(response, () => ({}));
      left = Object.keys(CONDITIONS).filter((name) => name in headers);
      response.end();
    });

    expect(left).toEqual(['if-match']);
  });

  it('can be asked for by whoever repeats the answer, and are seen by nobody else', () => {
    const response = Object.freeze({ writeHead: () => undefined });
    const open = { writeHead: () => undefined } as unknown as ServerResponse;
    markDegraded(open, () => ({ 'x-degraded': 'a' }));

    expect(degradedMarksOf(open)).toEqual({ 'x-degraded': 'a' });
    expect(Reflect.ownKeys(open).filter((key) => Object.prototype.propertyIsEnumerable.call(open, key))).toEqual([
      'writeHead',
    ]);
    expect(degradedMarksOf(response)).toBeUndefined();
  });

  it('are not asked of what is no response', () => {
    const nothing = {} as ServerResponse;
    markDegraded(nothing, () => ({ 'x-degraded': 'a' }));

    expect(Reflect.ownKeys(nothing).filter((key) => typeof key === 'string')).toEqual([]);
  });
});

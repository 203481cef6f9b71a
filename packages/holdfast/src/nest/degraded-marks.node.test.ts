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
import { degradedMarksOf, keepDegradedMarks, markDegraded } from './degraded-marks.js';

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

  it('are the first, of those who speak of the same', async () => {
    const headers = await headOf((response) => {
      markDegraded(response, () => ({ 'x-degraded': 'first' }));
      markDegraded(response, () => ({ 'x-degraded': 'second', 'x-other': 'second' }));
      response.end();
    });

    expect([headers['x-degraded'], headers['x-other']]).toEqual(['first', undefined]);
  });

  it('list what is missing in each of several parts, under each name, and to caches the first one speaks', async () => {
    const headers = await headOf((response) => {
      markDegraded(response, () => ({ 'X-Degraded': 'a=skipped;0', 'cache-control': 'no-store' }));
      markDegraded(response, () => ({ 'x-degraded': ['b=skipped;0', 'c=skipped;0'] }), 'another part');
      markDegraded(response, () => ({ 'x-missing': 'd=skipped;0', 'Cache-Control': 'max-age=5' }), 'a third');
      response.end();
    });

    expect(headers).toMatchObject({
      'x-degraded': 'a=skipped;0, b=skipped;0, c=skipped;0',
      'x-missing': 'd=skipped;0',
      'cache-control': 'no-store',
    });
  });

  it('are no longer for several parts than for one, and tell how many sections of all of them are left out', () => {
    const long = `${'s'.repeat(1_000)}=skipped;0`;
    const parts = [`${long}, *=more;3`, long, `${long}, ${long}`, '*=more;4'];
    const answer = {};
    for (const [at, list] of parts.entries()) keepDegradedMarks(answer, () => ({ 'x-degraded': list }), at);

    expect(degradedMarksOf(answer)).toEqual({ 'x-degraded': `${long}, ${long}, *=more;9` });
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

  it('can be asked for by whoever repeats the answer, also of what does not let itself be written to', () => {
    const open = { writeHead: () => undefined } as unknown as ServerResponse;
    const call = Object.freeze({});
    markDegraded(open, () => ({ 'x-degraded': 'a' }));
    keepDegradedMarks(call, () => ({ 'x-degraded': 'b' }));

    expect([open, call].map(degradedMarksOf)).toEqual([{ 'x-degraded': 'a' }, { 'x-degraded': 'b' }]);
    expect(Reflect.ownKeys(open)).toEqual(['writeHead']);
    expect(degradedMarksOf({})).toBeUndefined();
  });

  it('are not asked of what is no response', () => {
    const nothing = {} as ServerResponse;
    markDegraded(nothing, () => ({ 'x-degraded': 'a' }));

    expect(Reflect.ownKeys(nothing).filter((key) => typeof key === 'string')).toEqual([]);
  });
});

import { connect, createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { useLoopback } from '../../test/loopback.js';
import { fetchJson, requireValue } from '../fetch/index.js';
import { TimeoutPolicy } from '../index.js';
import { fanOut } from './fan-out.js';
import { optional, required } from './section.js';

// Needs --expose-gc. The platform is the subject: real time, real sockets, the real collector.

const SUITE = { timeout: 30_000 };
const PATIENCE = { timeout: 10_000 };
/** How much later than its limit an answer may come on a busy machine, in milliseconds. */
const SLACK = 5_000;
const LIMIT = 400;

const collectGarbage = (): void => (globalThis as { gc?: () => void }).gc?.();

/** Leaves nothing that only a collected signal could end. */
async function collectAgainAndAgain(): Promise<void> {
  for (let round = 0; round < 10; round++) {
    await wait(LIMIT / 20);
    collectGarbage();
  }
}

const { serve } = useLoopback();

describe('a section whose call hangs while everything that can be is collected', SUITE, () => {
  it.each<[string, (url: string, signal: AbortSignal) => Promise<unknown>]>([
    ['fetch', (url, signal) => fetch(url, { signal })],
    ['fetchJson', async (url, signal) => requireValue(await fetchJson(url, { signal }, '30s'))],
    ['fetch in a policy', (url) => new TimeoutPolicy('30s').execute(({ signal }) => fetch(url, { signal }))],
  ])('is cut at its limit, and its socket closed: %s', async (_how, call) => {
    const server = await serve(() => {});
    const startedAt = performance.now();
    const page = fanOut(
      { reviews: optional(({ signal }) => call(server.url, signal), { timeout: LIMIT, fallback: null }) },
      { minimum: 0, signal: new AbortController().signal },
    );
    await collectAgainAndAgain();

    expect((await page).degraded).toMatchObject([{ section: 'reviews', reason: 'upstream_timeout' }]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(LIMIT - 1);
    expect(performance.now() - startedAt).toBeLessThan(LIMIT + SLACK);
    await expect.poll(() => server.asked.size, PATIENCE).toBe(0);
  });

  it('ends with its caller, and its socket is closed', async () => {
    const server = await serve(() => {});
    const caller = new AbortController();
    const page = fanOut(
      { reviews: required(({ signal }) => fetch(server.url, { signal }), { timeout: '30s' }) },
      { signal: caller.signal },
    );
    await expect.poll(() => server.asked.size, PATIENCE).toBe(1);
    await collectAgainAndAgain();
    caller.abort(new Error('left'));

    await expect(page).rejects.toThrow('left');
    await expect.poll(() => server.asked.size, PATIENCE).toBe(0);
  });
});

describe('a dependency over HTTP/2 that says goodbye and hangs', SUITE, () => {
  let server: Http2Server;

  afterEach(() => void server.close());

  it('costs its section the limit, and the next one that is asked for on its connection nothing', async () => {
    server = createServer((request) => request.stream.session?.goaway());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    client.on('error', () => {});
    /** Knows nothing of signals. */
    const ask = (): Promise<unknown> =>
      new Promise((resolve, reject) => client.request().on('response', resolve).on('error', reject).end());
    const page = () =>
      fanOut({ reviews: optional(ask, { timeout: LIMIT, fallback: null }) }, { budget: '10s', minimum: 0 });
    const first = await page();
    const second = await page();
    client.destroy();

    expect(first.degraded).toMatchObject([{ reason: 'upstream_timeout' }]);
    expect(second.degraded).toMatchObject([{ reason: 'upstream_error' }]);
  });
});

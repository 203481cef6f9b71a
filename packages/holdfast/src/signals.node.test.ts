import { getEventListeners, once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf } from '../test/outcome.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy } from './policy.js';

/** For what takes as long as a busy machine needs. */
const PATIENCE = { timeout: 4_000 };
const reason = new Error('the caller left');
const collectGarbage = globalThis.gc as () => void;

/** Answers `/slow` with a head at once and a body later, `/endless` with a byte now and then, and nothing else at all. */
let server: Server;
let origin: string;
/** The paths of the requests that were cut by their client. */
const cut: unknown[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) cut.push(request.url);
    });
    if (request.url === '/slow' || request.url === '/endless') response.write('first, ');
    if (request.url === '/slow') setTimeout(() => response.end('last'), 400);
    if (request.url === '/endless') trickle(response);
    if (request.url === '/quick') response.end('warm');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // The first fetch of a process takes its time.
  await fetch(`${origin}/quick`).then((response) => response.text());
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function trickle(response: ServerResponse): void {
  const timer = setInterval(() => response.write('.'), 20);
  response.on('close', () => clearInterval(timer));
}

describe('a body that the work returned', () => {
  it('stays readable after the limit of the attempt', async () => {
    const policy = ResiliencePolicy.wrap(new RetryPolicy(2), new TimeoutPolicy(300));
    const response = await policy.execute(({ signal }) => fetch(`${origin}/slow`, { signal }));

    await expect(response.text()).resolves.toBe('first, last');
  });

  it('stays readable after the caller has left', async () => {
    const controller = new AbortController();
    const response = await new TimeoutPolicy('5s').execute(({ signal }) => fetch(`${origin}/slow`, { signal }), {
      signal: controller.signal,
    });
    controller.abort(reason);

    await expect(response.text()).resolves.toBe('first, last');
  });

  it.each(['/endless', '/never'])(
    'and that is read in the work is bounded by the limit, whatever phase the call is in (%s), and the server sees it cut',
    async (path) => {
      const read = new TimeoutPolicy(250).execute(async ({ signal }) => {
        const response = await fetch(`${origin}${path}`, { signal });
        return await response.text();
      });

      await expect(read).rejects.toMatchObject({ code: 'TIMEOUT', timeoutMs: 250 });
      await expect.poll(() => cut, PATIENCE).toContain(path);
    },
  );
});

describe('one signal under many calls', () => {
  it('has no listener left, and nobody warns of too many', async () => {
    const controller = new AbortController();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const policy = ResiliencePolicy.wrap(
      new RetryPolicy({ attempts: 2, backoff: { delay: 0 } }),
      new TimeoutPolicy(20),
      new BulkheadPolicy({ maxConcurrent: 50, maxQueue: 1_000 }),
    );
    const calls = Array.from({ length: 200 }, (_, index) =>
      outcomeOf(
        policy.execute(
          ({ signal }) =>
            index % 2 === 0
              ? new Promise((_resolve, reject) =>
                  signal.addEventListener('abort', () => reject(signal.reason as Error)),
                )
              : Promise.reject(new Error('down')),
          { signal: controller.signal },
        ),
      ),
    );
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    await expect.poll(() => calls.filter(({ state }) => state === 'pending'), PATIENCE).toEqual([]);
    process.off('warning', onWarning);

    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('carries none of 150 fetches, which have signals of their own', async () => {
    const controller = new AbortController();
    const policy = new TimeoutPolicy('10s');
    const calls = Array.from({ length: 150 }, () =>
      outcomeOf(policy.execute(({ signal }) => fetch(`${origin}/never`, { signal }), { signal: controller.signal })),
    );
    await wait(20);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort(reason);
    await expect.poll(() => calls.every(({ value }) => value === reason), PATIENCE).toBe(true);

    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });
});

describe('garbage collection', () => {
  it('takes no limit away that nobody holds but the call', async () => {
    const call = outcomeOf(
      new TimeoutPolicy(60).execute(
        ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      ),
    );
    for (let round = 0; round < 5; round++) {
      collectGarbage();
      await wait(5);
    }
    await expect.poll(() => call.state, PATIENCE).toBe('rejected');

    expect(call.value).toMatchObject({ code: 'TIMEOUT' });
  });

  it('takes no link away between a fetch and its caller', async () => {
    const controller = new AbortController();
    const call = outcomeOf(
      new TimeoutPolicy('10s').execute(({ signal }) => fetch(`${origin}/never/collected`, { signal }), {
        signal: controller.signal,
      }),
    );
    for (let round = 0; round < 5; round++) {
      collectGarbage();
      await wait(5);
    }
    controller.abort(reason);
    await expect.poll(() => cut, PATIENCE).toContain('/never/collected');

    expect(call.value).toBe(reason);
  });

  it('takes no signal away that a caller has made of several', async () => {
    const controller = new AbortController();
    const call = outcomeOf(
      new BulkheadPolicy().execute(() => new Promise(() => {}), { signal: AbortSignal.any([controller.signal]) }),
    );
    for (let round = 0; round < 5; round++) {
      collectGarbage();
      await wait(5);
    }
    controller.abort(reason);
    await expect.poll(() => call.value, PATIENCE).toBe(reason);
  });
});

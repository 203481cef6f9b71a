import { createServer, get, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { deno, RuntimeProcess, runs, workerd, type Variables } from './runtime-process.js';
import { startServices, type Services } from './services.js';

const PAGE = 'The page, byte for byte: \u{1F980}\u0000\n'.repeat(1_000);
/** Longer than the whole budget. */
const SLOW_MS = 1_700;

/** Counts its requests; under `/app/slow` its answer begins late. */
class Origin {
  requests = 0;
  readonly server: Server = createServer(({ url }, response) => {
    this.requests += 1;
    const send = (): void => {
      response.writeHead(200, 'Fine', { etag: '"1"', 'cdn-cache-control': 'max-age=9', 'x-origin': 'yes' });
      response.end(PAGE);
    };
    if (url === '/app/slow') setTimeout(send, SLOW_MS);
    else send();
  });
}

const runtimes = await Promise.all(
  [deno, workerd].map(async (runtime) => ({ runtime, name: runtime.name, isThere: await runs(runtime) })),
);

// Time is real: a machine that holds every process up for longer than a limit costs answers that are good.
describe.each(runtimes)('the gateway on $name', { retry: 2, timeout: 30_000 }, ({ runtime, isThere }) => {
  describe.skipIf(!isThere)(`${runtime.name} as it comes from npm`, () => {
    const hosts: RuntimeProcess[] = [];
    let origin: Origin;
    let services: Services;
    let host: RuntimeProcess;
    let gateway: URL;
    /** The same with less time. */
    let hurriedHost: RuntimeProcess;
    let hurried: URL;

    async function start(variables: Variables): Promise<readonly [RuntimeProcess, URL]> {
      const started = await RuntimeProcess.start(runtime, { ...services.variables, ...variables });
      hosts.push(started[0]);

      return started;
    }

    beforeAll(async () => {
      origin = new Origin();
      services = await startServices(origin.server);
      [host, gateway] = await start({});
      [hurriedHost, hurried] = await start({ BUDGET_MS: '1000' });
      // The first request of a process takes longer than any other.
      for (const cold of [gateway, hurried]) await fetch(new URL('/app/', cold), { headers: authorized() });
    }, 60_000);

    beforeEach(() => {
      services.auth.delayMs = 0;
      services.flags.delayMs = 0;
      origin.requests = 0;
      for (const { lines } of hosts) lines.length = 0;
    });

    afterAll(async () => {
      await Promise.all(hosts.map((started) => started.stop()));
      await services.stop();
    });

    const authorized = (): Record<string, string> => ({ authorization: `Bearer ${services.token}` });
    const reported = (count = 1): Promise<void> => vi.waitFor(() => expect(host.reports).toHaveLength(count), 5_000);

    it('passes the origin’s answer on as it is, when every step answers', async () => {
      const answer = await fetch(new URL('/app/cart', gateway), { headers: authorized() });

      expect([answer.status, await answer.text()]).toEqual([200, PAGE]);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        etag: '"1"',
        'cdn-cache-control': 'max-age=9',
        'x-origin': 'yes',
        'x-flags': 'new-cart',
      });
      expect(host.reports).toEqual([]);
    });

    it('closes: without the revocation list nobody gets in', async () => {
      services.auth.delayMs = Infinity;
      const cancelled = services.auth.seen.cancelled;
      const answer = await fetch(new URL('/app/cart', gateway), { headers: authorized() });

      expect(answer.status).toBe(503);
      expect(Object.fromEntries(answer.headers)).toMatchObject({ 'retry-after': '5', 'cache-control': 'no-store' });
      expect(answer.headers.get('x-edge-degraded')).toMatch(/^revocation=upstream_timeout;2\d\d$/);
      await reported();
      expect(host.reports).toMatchObject([
        { event: 'edge.timeout', step: 'revocation', reason: 'upstream_timeout', policy: 'closed' },
      ]);
      await vi.waitFor(() => expect(services.auth.seen.cancelled).toBe(cancelled + 1), 5_000);
      expect(origin.requests).toBe(0);
    });

    it('opens: without flags there is a page, marked, and no cache keeps it', async () => {
      services.flags.delayMs = Infinity;
      const answer = await fetch(new URL('/app/cart', gateway), { headers: authorized() });

      expect([answer.status, await answer.text()]).toEqual([200, PAGE]);
      expect(answer.headers.get('x-edge-degraded')).toMatch(/^flags=upstream_timeout;2[5-9]\d$/);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect([answer.headers.has('etag'), answer.headers.has('cdn-cache-control')]).toEqual([false, false]);
      expect(answer.headers.get('x-origin')).toBe('yes');
      await reported();
      expect(host.reports).toMatchObject([{ step: 'flags', reason: 'upstream_timeout', policy: 'open' }]);
    });

    it('reserves: steps have what is left beside the origin’s share, and the origin has as long as it takes', async () => {
      services.flags.delayMs = Infinity;
      const answer = await fetch(new URL('/app/slow', hurried), { headers: authorized() });

      expect([answer.status, await answer.text()]).toEqual([200, PAGE]);
      await vi.waitFor(() => expect(hurriedHost.reports).toHaveLength(1), 5_000);
      const [report] = hurriedHost.reports as [{ waitedMs: number; budgetLeftMs: number }];
      expect(report).toMatchObject({ step: 'flags', reason: 'upstream_timeout' });
      expect(report.waitedMs).toBeLessThanOrEqual(200);
    });

    it('aborts: a client that leaves ends the call, and is told apart', async () => {
      services.flags.delayMs = Infinity;
      const { requests, cancelled } = services.flags.seen;
      const client = get(new URL('/app/cart', gateway), { headers: authorized() });
      client.on('error', () => {});
      await vi.waitFor(() => expect(services.flags.seen.requests).toBe(requests + 1), 5_000);
      if (client.socket !== null) runtime.hangUp(client.socket);

      await reported();
      expect(host.reports).toMatchObject([{ step: 'flags', reason: 'client_abort', policy: 'open' }]);
      await vi.waitFor(() => expect(services.flags.seen.cancelled).toBe(cancelled + 1), 5_000);
      expect(origin.requests).toBe(0);
    });
  });
});

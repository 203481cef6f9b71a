import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startBalancedServers, type BalancedServers } from '../src/stubs/balanced-servers.js';
import { WatchedClient } from '../src/story/watched-client.js';

const ANSWER_MS = 40;
/** What sockets, the proxy and a busy machine may add to an answer. */
const SLACK_MS = 100;

let servers: BalancedServers;

beforeEach(async () => {
  servers = await startBalancedServers(0);
  servers.first.delayMs = servers.second.delayMs = ANSWER_MS;
});

afterEach(() => servers.close());

async function warm(): Promise<WatchedClient> {
  const watched = new WatchedClient();
  for (let call = 0; call < 20; call++) await watched.call(servers.url);

  return watched;
}

describe('two servers behind a proxy that asks them in turn', () => {
  it('are asked in turn', async () => {
    const { client } = new WatchedClient();
    const answers = [await client.call(servers.url), await client.call(servers.url), await client.call(servers.url)];

    expect(answers).toEqual(['first', 'second', 'first']);
  });

  // Time is real here: where the machine holds us up for longer than a limit, a good answer is cut. A client that
  // does it wrong fails each time.
  it(
    'cost a caller no more than a learned limit and a good answer when one of them stops answering',
    { retry: 3 },
    async () => {
      const watched = await warm();
      expect(watched.limitMs).toBeLessThan(2 * (ANSWER_MS + SLACK_MS));
      servers.second.stuck = true;
      const before = servers.second.seen.requests;

      for (let call = 0; call < 8; call++) {
        const limitMs = watched.limitMs;
        const { tookMs, cutsMs } = await watched.call(servers.url);

        expect(cutsMs.length).toBeLessThanOrEqual(1);
        expect(tookMs).toBeLessThan(limitMs + ANSWER_MS + SLACK_MS);
      }
      const { seen } = servers.second;
      expect(seen.requests - before).toBeGreaterThanOrEqual(7);
      await vi.waitFor(() => expect(seen.cancelled).toBe(seen.requests - before));
    },
  );

  it('are given more time within a few calls when both become slower', { retry: 3 }, async () => {
    const watched = await warm();
    servers.first.delayMs = servers.second.delayMs = 4 * ANSWER_MS;
    const calls = [];
    for (let call = 0; call < 10; call++) calls.push(await watched.call(servers.url));

    expect(calls.flatMap(({ cutsMs }) => cutsMs).length).toBeGreaterThan(0);
    expect(calls.flatMap(({ cutsMs }) => cutsMs).length).toBeLessThanOrEqual(3);
    expect(watched.limitMs).toBeGreaterThan(4 * ANSWER_MS);
  });

  it('free the port of the proxy and answer nobody once they are closed', async () => {
    const { url } = servers;
    await servers.close();

    await expect(new WatchedClient().call(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    servers = await startBalancedServers(Number(url.port));
    expect(servers.url.href).toBe(url.href);
  });
});

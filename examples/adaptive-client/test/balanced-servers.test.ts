import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startBalancedServers, type BalancedServers } from '../src/stubs/balanced-servers.js';
import { WatchedClient } from '../src/story/watched-client.js';

const ANSWER_MS = 10;
/** What sockets, the proxy and a busy machine may add to a call. */
const SLACK_MS = 300;

let servers: BalancedServers;

beforeEach(async () => {
  servers = await startBalancedServers(0);
  servers.first.delayMs = servers.second.delayMs = ANSWER_MS;
});

afterEach(() => servers.close());

/** A client that has seen calls of 100 ms, so that its limit is the same on every machine: a little above 200 ms. */
function experienced(): WatchedClient {
  const watched = new WatchedClient();
  for (let call = 0; call < 30; call++) watched.client.limit.record(100);

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
  const onRealTime = { retry: 3, timeout: 20_000 };

  it('cost a caller no more than a learned limit and a good answer when one stops answering', onRealTime, async () => {
    const watched = experienced();
    servers.second.stuck = true;
    const calls = [];
    for (let call = 0; call < 5; call++) {
      const { limitMs } = watched;
      calls.push({ limitMs, ...(await watched.call(servers.url)) });
    }

    // Asked in turn, the first call meets the first server, and every later one begins with the other.
    expect(calls.map(({ cutsMs }) => cutsMs)).toEqual([[], ...calls.slice(1).map(({ limitMs }) => [limitMs])]);
    for (const { tookMs, limitMs } of calls) expect(tookMs).toBeLessThan(limitMs + ANSWER_MS + SLACK_MS);
    await vi.waitFor(() => expect(servers.second.seen).toEqual({ requests: 4, cancelled: 4 }));
  });

  it('are given more time within a few calls when both become slower than the limit', onRealTime, async () => {
    const watched = experienced();
    const slowerMs = watched.limitMs * 1.5;
    servers.first.delayMs = servers.second.delayMs = slowerMs;
    const calls = [];
    for (let call = 0; call < 10; call++) calls.push(await watched.call(servers.url));

    const cuts = calls.flatMap(({ cutsMs }) => cutsMs).length;
    expect(cuts).toBeGreaterThan(0);
    expect(cuts).toBeLessThanOrEqual(3);
    expect(watched.limitMs).toBeGreaterThan(slowerMs);
  });

  it('free the port of the proxy and answer nobody once they are closed', async () => {
    const { url } = servers;
    await servers.close();

    await expect(new WatchedClient().call(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    servers = await startBalancedServers(Number(url.port));
    expect(servers.url.href).toBe(url.href);
  });
});

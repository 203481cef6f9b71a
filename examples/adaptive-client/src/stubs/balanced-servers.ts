import { close, listen } from './listening.js';
import { createRoundRobinProxy } from './round-robin-proxy.js';
import { UpstreamServer } from './upstream-server.js';

/** Two servers behind a proxy that asks them in turn. */
export interface BalancedServers {
  readonly first: UpstreamServer;
  readonly second: UpstreamServer;
  /** Of the proxy. */
  readonly url: URL;
  close(): Promise<void>;
}

/** @param port Of the proxy; 0 takes any free one. Rejects with the error of the socket when it is taken. */
export async function startBalancedServers(port: number): Promise<BalancedServers> {
  const first = new UpstreamServer('first');
  const second = new UpstreamServer('second');
  const proxy = createRoundRobinProxy([await listen(first.server), await listen(second.server)]);
  const closeAll = async (): Promise<void> => {
    for (const server of [proxy, first.server, second.server]) {
      await close(server, () => server.closeAllConnections());
    }
  };

  try {
    return { first, second, url: await listen(proxy, port), close: closeAll };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

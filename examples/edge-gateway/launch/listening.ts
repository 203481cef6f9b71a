import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** @returns The address that the server listens on. Port 0 takes any free one. */
export async function listen(server: Server, port = 0): Promise<URL> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');

  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** Hangs up on whoever is still there; resolves when the port is free. */
export async function close(server: Server): Promise<void> {
  if (!server.listening) return;

  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

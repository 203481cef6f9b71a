import { createServer, type AddressInfo } from 'node:net';

/** A port of the loopback on which nobody listens, for servers that cannot tell which one they were given. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));

  return port;
}

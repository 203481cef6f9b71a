import { close, listen } from '../listening.js';
import { createHomeServer } from '../server.js';
import { explainPort, type Settings } from '../settings.js';
import { startHomeStubs } from '../stubs/home-stubs.js';
import type { UpstreamStub } from '../stubs/upstream-stub.js';
import { KEYS, upstreamsAt, type Key } from '../upstreams.js';

export interface HomeService {
  readonly url: string;
  /** Those that stand in for services without an address. */
  readonly stubs: readonly UpstreamStub[];
  close(): Promise<void>;
}

/** @throws SettingError when the port cannot be opened. */
export async function startHomeService({ port, origins }: Settings): Promise<HomeService> {
  const stubs = await startHomeStubs(KEYS.filter((key) => origins[key] === undefined));
  const stoodIn = Object.fromEntries(stubs.map(({ name, url }) => [name, url]));
  const server = createHomeServer(upstreamsAt({ ...stoodIn, ...origins } as Record<Key, string>));
  const closeStubs = (): Promise<unknown> => Promise.all(stubs.map((stub) => stub.close()));
  try {
    const url = await listen(server, port);
    return { url, stubs, close: async () => void (await Promise.all([close(server), closeStubs()])) };
  } catch (error) {
    await closeStubs();
    throw explainPort(error, port);
  }
}

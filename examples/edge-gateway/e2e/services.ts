import type { Server } from 'node:http';
import { close, listen } from '../launch/listening.js';
import { createSigning } from '../launch/signing.js';
import { authStub, flagsStub, originStub, type StubService } from '../launch/stubs.js';
import type { Variables } from './runtime-process.js';

/** The services around a gateway, on sockets. */
export interface Services {
  readonly auth: StubService;
  readonly flags: StubService;
  readonly variables: Variables;
  readonly token: string;
  stop(): Promise<void>;
}

export async function startServices(origin: Server = originStub()): Promise<Services> {
  const auth = authStub();
  const flags = flagsStub();
  const signing = await createSigning();
  const servers = [auth.server, flags.server, origin];
  const [authUrl = '', flagsUrl = '', originUrl = ''] = await Promise.all(
    servers.map(async (server) => (await listen(server)).href),
  );

  return {
    auth,
    flags,
    token: await signing.sign('visitor'),
    variables: {
      AUTH_URL: authUrl,
      FLAGS_URL: flagsUrl,
      ORIGIN_URL: originUrl,
      TOKEN_KEYS: JSON.stringify(signing.keys),
    },
    stop: async () => void (await Promise.all(servers.map((server) => close(server)))),
  };
}

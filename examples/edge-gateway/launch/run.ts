import type { Server } from 'node:http';
import { createNodeServer } from '../hosts/node.js';
import { readAddress, readSettings, SettingError } from '../lib/settings.js';
import { close, listen } from './listening.js';
import { createSigning, type Signing } from './signing.js';
import { authStub, flagsStub, originStub } from './stubs.js';
import { whatToTry } from './what-to-try.js';

const HIGHEST_PORT = 65_535;

export interface Launched {
  readonly gateway: URL;
  stop(): Promise<void>;
}

/**
 * Starts the gateway, and a stub for each service whose address is not given.
 *
 * @throws SettingError when a variable cannot be used; nothing is left running then.
 */
export async function run(environment: NodeJS.ProcessEnv, print: (text: string) => void): Promise<Launched> {
  const port = readPort(environment['PORT']);
  const signing = environment['TOKEN_KEYS'] === undefined ? await createSigning() : undefined;
  const servers: Server[] = [];
  const stop = async (): Promise<void> => void (await Promise.all(servers.map((server) => close(server))));
  try {
    const stubs = await startStubs(environment, servers);
    const given = { ...environment, ...variablesFor(stubs, signing) };
    const settings = readSettings((name) => given[name]);
    const server = createNodeServer(settings, readAddress('ORIGIN_URL', given['ORIGIN_URL'] ?? ''));
    servers.push(server);
    const gateway = await listen(server, port);
    print(
      whatToTry({ gateway, tokens: await tokensOf(signing), authStub: stubs.AUTH_URL, flagsStub: stubs.FLAGS_URL }),
    );

    return { gateway, stop };
  } catch (error) {
    await stop();
    throw explainPort(error, port);
  }
}

type Stubs = Partial<Record<'AUTH_URL' | 'FLAGS_URL' | 'ORIGIN_URL', URL>>;

async function startStubs(environment: NodeJS.ProcessEnv, servers: Server[]): Promise<Stubs> {
  const makers = {
    AUTH_URL: () => authStub().server,
    FLAGS_URL: () => flagsStub().server,
    ORIGIN_URL: originStub,
  };
  const stubs: Stubs = {};
  for (const name of ['AUTH_URL', 'FLAGS_URL', 'ORIGIN_URL'] as const) {
    if (environment[name] !== undefined) continue;

    const server = makers[name]();
    servers.push(server);
    stubs[name] = await listen(server);
  }

  return stubs;
}

function variablesFor(stubs: Stubs, signing: Signing | undefined): NodeJS.ProcessEnv {
  const addresses = Object.entries(stubs).map(([name, { href }]) => [name, href]);

  return {
    ...Object.fromEntries(addresses),
    ...(signing !== undefined && { TOKEN_KEYS: JSON.stringify(signing.keys) }),
  };
}

async function tokensOf(signing: Signing | undefined) {
  if (signing === undefined) return undefined;

  return { visitor: await signing.sign('visitor'), revoked: await signing.sign('revoked') };
}

function readPort(given = '8080'): number {
  if (/^\d+$/.test(given) && Number(given) <= HIGHEST_PORT) return Number(given);

  throw new SettingError(`PORT: a whole number from 0 to ${HIGHEST_PORT}, not "${given}".`);
}

function explainPort(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EADDRINUSE') return error;

  return new SettingError(`Port ${port} is taken. Set PORT to another one, or to 0 for any free port.`);
}

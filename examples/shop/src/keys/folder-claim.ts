import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { KeyStoreError } from './key-store-settings.js';

/** A folder that is this process's alone, until it is released or the process dies, whatever it dies of. */
export interface FolderClaim {
  release(): Promise<void>;
}

const TRIES = 3;

/**
 * Claims a folder that exists. An embedded database has no server that would see to it that one process writes its files.
 *
 * The claim is a name on which the process listens, since the system itself takes that back from the dead: what a file
 * says of its writer would be wrong after a SIGKILL, or once another process has got the number.
 *
 * @throws KeyStoreError naming the process that has it.
 */
export async function claimFolder(folder: string): Promise<FolderClaim> {
  const address = addressOf(await realpath(folder));
  for (let tries = 1; ; tries += 1) {
    const server = await listenOn(address);
    if (server !== undefined) return { release: () => close(server) };

    const owner = await ownerAt(address);
    if (owner !== undefined || tries === TRIES) {
      throw new KeyStoreError(
        `The keys in ${folder} belong to a shop that runs already (process ${owner ?? 'unknown'}). Set KEYS_FOLDER to ` +
          'another folder; processes that are to share their keys need a server: set DATABASE_URL or REDIS_URL.',
      );
    }
    // Where names are files, they stay behind.
    await rm(address, { force: true }).catch(() => {});
  }
}

/** Linux and Windows have names that vanish with their process, others a file. */
function addressOf(folder: string): string {
  const name = `holdfast-shop-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}`;
  if (process.platform === 'linux') return `\0${name}`;
  if (process.platform === 'win32') return `\\\\.\\pipe\\${name}`;

  return join(tmpdir(), `${name}.sock`);
}

async function listenOn(address: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.on('error', () => {}).end(String(process.pid)));
  server.listen(address);
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }

  return server.unref();
}

/** The process that has claimed it; `undefined` when there is none any more. */
async function ownerAt(address: string): Promise<string | undefined> {
  try {
    return await text(connect(address));
  } catch {
    return undefined;
  }
}

async function close(server: Server): Promise<void> {
  await new Promise((resolve) => void server.close(resolve));
}

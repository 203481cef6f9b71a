import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { Redis } from 'ioredis';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import type { CasePlan, Wanted } from './cases.js';
import { createEffects, onDatabase } from './effects.js';
import { NaiveStore } from './server/naive-store.js';
import type { StoreName } from './server/server-settings.js';
import { isListening, OwnedPostgres, OwnedRedis, type OwnedServer } from './store/owned-server.js';
import { SlowProxy } from './store/slow-proxy.js';

const POSTGRES = 'postgres://postgres@127.0.0.1:5432';
const REDIS = 'redis://127.0.0.1:6379';

/** @throws Error naming the server that is missing. Effects are counted in PostgreSQL, whatever the store is. */
export async function requireServers(stores: readonly StoreName[]): Promise<void> {
  const needed: readonly StoreName[] = ['postgres', ...stores];
  for (const name of needed) {
    const port = name === 'postgres' ? 5432 : 6379;
    if (await isListening(port)) continue;

    throw new Error(`The proof needs ${name} on 127.0.0.1:${port}; start it with: tools/ci/services.sh`);
  }
}

/** Where the servers find what they need. */
export interface Surroundings {
  readonly folder: string;
  readonly storeUrl: string;
  readonly keyPrefix: string;
  readonly effectsUrl: string;
  /** Where effects are read: past all faults. */
  readonly effectsReadUrl: string;
  /** The store, where it is to be disturbed. */
  readonly disturbed?: { readonly server: OwnedServer; readonly proxy: SlowProxy } | undefined;
  end(): Promise<void>;
}

/** What was opened last is closed first. */
type Closers = (() => Promise<unknown> | void)[];

const opened = new Set<() => Promise<void>>();

/** For a program that is told to stop before it is through. */
export async function endAllSurroundings(): Promise<void> {
  await Promise.all(Array.from(opened, (end) => end()));
}

export async function prepare(wanted: Wanted, plan: CasePlan): Promise<Surroundings> {
  const closers: Closers = [];
  const end = async (): Promise<void> => {
    opened.delete(end);
    for (const close of closers.splice(0).toReversed()) await close();
  };
  opened.add(end);
  try {
    return { ...(await open(wanted, plan, closers)), end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function open(wanted: Wanted, plan: CasePlan, closers: Closers): Promise<Omit<Surroundings, 'end'>> {
  const folder = mkdtempSync(join(tmpdir(), 'idempotency-proof-'));
  // PostgreSQL runs as another user, in a folder in here.
  chmodSync(folder, 0o755);
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const name = `idempotency_proof_${randomBytes(6).toString('hex')}`;
  const keyPrefix = `${name}:`;
  const sharedUrl = await createDatabase(POSTGRES, name);
  closers.push(() => dropDatabase(name));
  await createEffects(sharedUrl);

  const isPostgres = wanted.store === 'postgres';
  if (plan.outages === 0) {
    if (isPostgres) await createTables(sharedUrl, wanted);
    else closers.push(() => deleteKeys(keyPrefix));
    const storeUrl = isPostgres ? sharedUrl : REDIS;
    return { folder, keyPrefix, storeUrl, effectsUrl: sharedUrl, effectsReadUrl: sharedUrl };
  }

  const disturbed = await startOwned(isPostgres, folder, closers);
  const throughProxy = `127.0.0.1:${disturbed.proxy.port}`;
  if (!isPostgres) {
    const storeUrl = `redis://${throughProxy}`;
    return { folder, keyPrefix, storeUrl, effectsUrl: sharedUrl, effectsReadUrl: sharedUrl, disturbed };
  }

  const ownUrl = await createDatabase(`postgres://postgres@127.0.0.1:${disturbed.server.port}`, name);
  await createTables(ownUrl, wanted);
  const storeUrl = `postgres://postgres@${throughProxy}/${name}`;
  if (!plan.joined) return { folder, keyPrefix, storeUrl, effectsUrl: sharedUrl, effectsReadUrl: sharedUrl, disturbed };

  // One transaction is in one database.
  await createEffects(ownUrl);
  return { folder, keyPrefix, storeUrl, effectsUrl: storeUrl, effectsReadUrl: ownUrl, disturbed };
}

async function startOwned(
  isPostgres: boolean,
  folder: string,
  closers: Closers,
): Promise<NonNullable<Surroundings['disturbed']>> {
  const place = join(folder, 'store');
  mkdirSync(place);
  const server = new (isPostgres ? OwnedPostgres : OwnedRedis)(await freePort(), place);
  closers.push(() => server.crash());
  await server.start();
  const proxy = await SlowProxy.start(server.port);
  closers.push(() => proxy.stop());

  return { server, proxy };
}

async function createDatabase(server: string, name: string): Promise<string> {
  await onDatabase(`${server}/postgres`, (client) => client.query(`CREATE DATABASE ${name}`));

  return `${server}/${name}`;
}

async function dropDatabase(name: string): Promise<void> {
  await onDatabase(`${POSTGRES}/postgres`, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
}

async function createTables(url: string, { fault }: Wanted): Promise<void> {
  const pool = new Pool({ connectionString: url });
  try {
    await (fault === undefined
      ? new PostgresIdempotencyStore(pool).ensureSchema()
      : new NaiveStore(pool, fault).ensureTable());
  } finally {
    await pool.end();
  }
}

async function deleteKeys(prefix: string): Promise<void> {
  const client = new Redis(REDIS);
  for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1_000 })) {
    if ((keys as string[]).length > 0) await client.unlink(keys as string[]);
  }
  client.disconnect();
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');

  return port;
}

import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { claimFolder } from './folder-claim.js';
import type { KeyDatabase } from './key-database.js';
import { KeyStoreError } from './key-store-settings.js';

/**
 * A PostgreSQL inside of this process, whose files survive it: nothing to install, and nothing that another process can
 * share. Files are where they belong once the system has them, so that a killed process loses nothing; a machine that
 * loses power may.
 *
 * @throws KeyStoreError when another shop has the folder, or it cannot be read or written.
 */
export async function openEmbeddedKeys(folder: string): Promise<KeyDatabase> {
  const home = resolve(folder);
  await mkdir(home, { recursive: true }).catch((error: unknown) => refuse(home, error));
  const claim = await claimFolder(home);
  try {
    const database = await openDatabase(home);
    const close = async (): Promise<void> => {
      await database.close();
      await claim.release();
    };

    return { store: await storeIn(database), place: home, close };
  } catch (error) {
    await claim.release();
    return refuse(home, error);
  }
}

async function storeIn(database: PGlite): Promise<PostgresIdempotencyStore> {
  const store = new PostgresIdempotencyStore(database);
  await store.ensureSchema();

  return store;
}

/** The database lies in a folder inside, so that nobody else's files are in its way. */
async function openDatabase(home: string): Promise<PGlite> {
  const files = join(home, 'database');
  if (!(await readdir(home)).includes('database')) await makeDatabase(files);

  return await PGlite.create(files);
}

/** In one step, as seen by the next start: a shop that is stopped meanwhile leaves nothing half made under that name. */
async function makeDatabase(files: string): Promise<void> {
  const unfinished = `${files}.new`;
  await rm(unfinished, { recursive: true, force: true });
  const database = await PGlite.create(unfinished);
  await database.close();
  await rename(unfinished, files);
}

function refuse(home: string, error: unknown): never {
  if (error instanceof KeyStoreError) throw error;

  throw new KeyStoreError(
    `The keys in ${home} cannot be opened: ${error instanceof Error ? error.message : String(error)}. Set KEYS_FOLDER to ` +
      'another folder. Or delete this one: then requests that are repeated run a second time.',
    { cause: error },
  );
}

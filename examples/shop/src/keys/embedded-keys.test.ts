import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbeddedKeys } from './embedded-keys.js';

const MAKING_MS = 60_000;
const ANSWER = { status: 201, headers: {}, body: { id: 'shipment-1' } };

describe('The embedded keys', () => {
  let place: string;

  beforeEach(async () => {
    place = await mkdtemp(join(tmpdir(), 'holdfast-embedded-'));
  });

  afterEach(async () => {
    await rm(place, { recursive: true });
  });

  it(
    'are there again after they were closed, in a folder that is made when it is missing',
    async () => {
      const folder = join(place, 'new/keys');
      const first = await openEmbeddedKeys(folder);
      expect(first.place).toBe(folder);
      await first.store.acquire('key', 'owner', 'fingerprint', 60_000);
      await first.store.complete('key', 'owner', ANSWER, 60_000);
      await first.close();

      const second = await openEmbeddedKeys(folder);
      expect(await second.store.acquire('key', 'other', 'fingerprint', 60_000)).toEqual({
        state: 'completed',
        fingerprint: 'fingerprint',
        response: ANSWER,
      });
      await second.close();
      expect(await readdir(folder)).toEqual(['database']);
    },
    MAKING_MS,
  );

  it(
    'are made anew where an earlier start was stopped while it made them, beside files of others',
    async () => {
      await mkdir(join(place, 'database.new'));
      await writeFile(join(place, 'database.new/PG_VERSION'), 'half');
      await writeFile(join(place, 'notes.txt'), 'mine');

      await (await openEmbeddedKeys(place)).close();
      expect((await readdir(place)).toSorted()).toEqual(['database', 'notes.txt']);
    },
    MAKING_MS,
  );

  it(
    'that are damaged are neither used nor replaced, and the folder is free for whoever mends it',
    async () => {
      await mkdir(join(place, 'database'));
      await writeFile(join(place, 'database/PG_VERSION'), 'nonsense');

      for (let tries = 1; tries <= 2; tries += 1) {
        await expect(openEmbeddedKeys(place)).rejects.toThrow(`The keys in ${place} cannot be opened: `);
      }
      expect(await readdir(join(place, 'database'))).toContain('PG_VERSION');
    },
    MAKING_MS,
  );

  it('need a folder that can be made', async () => {
    await writeFile(join(place, 'file'), '');

    await expect(openEmbeddedKeys(join(place, 'file/keys'))).rejects.toThrow(
      /cannot be opened: ENOTDIR.* Set KEYS_FOLDER/s,
    );
  });
});

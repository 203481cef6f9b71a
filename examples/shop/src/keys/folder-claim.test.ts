import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimFolder, type FolderClaim } from './folder-claim.js';

describe('The claim on a folder', () => {
  let place: string;
  const claims: FolderClaim[] = [];
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    place = await mkdtemp(join(tmpdir(), 'holdfast-claim-'));
  });

  afterEach(async () => {
    await Promise.all(claims.splice(0).map((claim) => claim.release()));
    await Promise.all(children.splice(0).map((child) => killed(child)));
    await rm(place, { recursive: true });
  });

  async function claim(folder = place): Promise<FolderClaim> {
    const made = await claimFolder(folder);
    claims.push(made);
    return made;
  }

  async function killed(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Another process that has claimed the folder, as compiled. */
  async function claimedElsewhere(): Promise<ChildProcess> {
    const compiled = new URL('../../dist/keys/folder-claim.js', import.meta.url).href;
    const script = join(place, 'claim.mjs');
    await writeFile(
      script,
      `import { claimFolder } from ${JSON.stringify(compiled)};
      await claimFolder(${JSON.stringify(place)});
      process.on('message', () => {});
      process.send('claimed');`,
    );
    const child = fork(script, { execArgv: [] });
    children.push(child);
    await once(child, 'message');
    return child;
  }

  it('is had by one at a time, and another is told who that is', async () => {
    const first = await claim();

    await expect(claim()).rejects.toThrow(`belong to a shop that runs already (process ${process.pid})`);
    await expect(claim()).rejects.toThrow('set DATABASE_URL or REDIS_URL');
    await first.release();
    await claim();
  });

  it('of several that want it at once is had by one', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => claim()));

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('is of the folder, by whatever path', async () => {
    const detour = join(tmpdir(), `holdfast-claim-detour-${process.pid}`);
    await symlink(place, detour);
    try {
      await claim();

      await expect(claim(detour)).rejects.toThrow('runs already');
    } finally {
      await rm(detour);
    }
  });

  it('says nothing about other folders', async () => {
    const other = await mkdtemp(join(tmpdir(), 'holdfast-claim-'));
    try {
      await claim();
      await claim(other);
    } finally {
      await rm(other, { recursive: true });
    }
  });

  it('holds against other processes, and ends with a process that is killed', async () => {
    const child = await claimedElsewhere();
    await expect(claim()).rejects.toThrow(`(process ${child.pid})`);

    await killed(child);
    await claim();
  });
});

import { execFileSync, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { atExit } from '../at-exit.js';
import { onDatabase } from '../effects.js';

/** A server of the proof's own, which keeps its data when it is killed. */
export interface OwnedServer {
  readonly port: number;
  start(): Promise<void>;
  /** Nothing is closed in order. Data that was confirmed is on the disk. */
  crash(): Promise<void>;
  /** Returns what lets it go on. */
  freeze(): () => void;
}

const PATIENCE_MS = 30_000;

abstract class ServerInFolder implements OwnedServer {
  protected child: ChildProcess | undefined;

  constructor(
    readonly port: number,
    protected readonly folder: string,
  ) {}

  async start(): Promise<void> {
    const child = this.spawn();
    this.child = child;
    child.once(
      'exit',
      atExit(() => this.signal('SIGKILL')),
    );
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await this.answers())) {
      if (child.exitCode !== null || performance.now() > deadline) throw new Error(`${child.spawnfile} did not start`);
      await pause(20);
    }
  }

  async crash(): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;

    const gone = once(child, 'exit');
    this.end(child);
    await gone;
  }

  freeze(): () => void {
    this.signal('SIGSTOP');

    return () => this.signal('SIGCONT');
  }

  /** Whether it is ready, and not only about to be. */
  protected answers(): Promise<boolean> {
    return isListening(this.port);
  }

  protected abstract spawn(): ChildProcess;
  protected abstract end(child: ChildProcess): void;
  protected abstract signal(signal: NodeJS.Signals): void;
}

/** Writes each command to its file before it answers: without such a set-up, Redis forgets when it dies. */
export class OwnedRedis extends ServerInFolder {
  protected spawn(): ChildProcess {
    const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];

    return spawn('redis-server', ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.folder, ...durable], {
      stdio: 'ignore',
    });
  }

  protected end(child: ChildProcess): void {
    child.kill('SIGKILL');
  }

  protected signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }
}

const PROGRAMS = '/usr/lib/postgresql';

/** Where Debian puts the newest of them; `undefined` without any. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(PROGRAMS)) return undefined;

  const versions = readdirSync(PROGRAMS).toSorted((a, b) => Number(a) - Number(b));
  return versions.map((version) => join(PROGRAMS, version, 'bin')).findLast((path) => existsSync(join(path, 'initdb')));
}

export class OwnedPostgres extends ServerInFolder {
  protected spawn(): ChildProcess {
    const data = join(this.folder, 'cluster');
    const user = unprivileged(this.folder);
    const programs = postgresPrograms() ?? '';
    if (!existsSync(data)) {
      const setUp = ['-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync', '-D', data];
      execFileSync(join(programs, 'initdb'), setUp, { ...user, stdio: 'ignore' });
    }

    const place = ['-D', data, '-p', `${this.port}`, '-h', '127.0.0.1', '-k', this.folder];
    return spawn(join(programs, 'postgres'), place, { ...user, stdio: 'ignore' });
  }

  protected override async answers(): Promise<boolean> {
    try {
      await onDatabase(`postgres://postgres@127.0.0.1:${this.port}/postgres`, (client) => client.query(''));
      return true;
    } catch {
      return false;
    }
  }

  /** "Immediate": its processes go at once, without a checkpoint, and the next start recovers from the log. */
  protected end(child: ChildProcess): void {
    child.kill('SIGQUIT');
  }

  /** Each connection has a process, in a group of its own. */
  protected signal(signal: NodeJS.Signals): void {
    const pid = this.child?.pid;
    if (pid === undefined || this.child?.exitCode !== null) return;

    for (const one of [pid, ...childrenOf(pid)]) tryToSignal(one, signal);
  }
}

function tryToSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended since it was listed.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function childrenOf(pid: number): readonly number[] {
  const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');

  return listed.split(' ').filter(Boolean).map(Number);
}

/** PostgreSQL does not run as root. */
function unprivileged(folder: string): SpawnOptions {
  mkdirSync(folder, { recursive: true });
  if (process.getuid?.() !== 0) return {};

  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const [uid, gid] = [idOf('-u'), idOf('-g')];
  chownSync(realpathSync(folder), uid, gid);
  return { uid, gid };
}

export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const end = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

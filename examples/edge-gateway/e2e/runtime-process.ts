import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A runtime that hosts the gateway in a process of its own. */
export interface Runtime {
  readonly name: string;
  readonly command: string;
  /** The file of ours that it runs, bundled. */
  readonly host: string;
  /** Writes what it needs beside the bundle, and says what to call it with. */
  prepare(folder: string, variables: Variables): readonly string[];
  /** How a client leaves, so that it notices. */
  hangUp(socket: Socket): void;
}

export type Variables = Readonly<Record<string, string>>;

export const deno: Runtime = {
  name: 'Deno',
  command: at('../../../node_modules/.bin/deno'),
  host: 'deno.ts',
  prepare: () => [
    'run',
    '--no-remote',
    '--no-npm',
    '--no-lock',
    '--no-config',
    '--allow-net',
    '--allow-env',
    'host.js',
  ],
  hangUp: (socket) => socket.destroy(),
};

export const workerd: Runtime = {
  name: 'workerd',
  command: at('../../../node_modules/.bin/workerd'),
  host: 'worker.ts',
  prepare(folder, variables) {
    writeFileSync(join(folder, 'config.capnp'), workerdConfig(variables));

    return ['serve', '--control-fd=1', 'config.capnp'];
  },
  // A connection that is merely closed may be half closed: workerd goes on until it is reset.
  hangUp: (socket) => socket.resetAndDestroy(),
};

/** Whether the command is there and runs on this machine. */
export async function runs({ command }: Runtime): Promise<boolean> {
  return promisify(execFile)(command, ['--version']).then(
    () => true,
    () => false,
  );
}

/** A started process, its address, and what it has logged. */
export class RuntimeProcess {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #folder: string;

  /** A runner that is ended before its tests have ended takes them along. */
  readonly #end = (): void => {
    if (this.#child.exitCode === null && this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
  };

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
    process.once('exit', this.#end);
  }

  static async start(runtime: Runtime, variables: Variables): Promise<readonly [RuntimeProcess, URL]> {
    const folder = mkdtempSync(join(tmpdir(), 'edge-gateway-'));
    await bundle(runtime.host, join(folder, 'host.js'));
    const child = spawn(runtime.command, runtime.prepare(folder, variables), {
      cwd: folder,
      env: { ...process.env, ...variables, DENO_DIR: folder, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      // The commands are scripts that start the runtime proper: all of the group is ended together.
      detached: true,
    });
    const started = new RuntimeProcess(child, folder);

    return [started, await started.#listening()] as const;
  }

  /** What was logged about steps. */
  get reports(): unknown[] {
    return this.lines.filter((line) => line.startsWith('{"event":"edge')).map((line) => JSON.parse(line) as unknown);
  }

  async stop(): Promise<void> {
    process.off('exit', this.#end);
    if (this.#child.exitCode === null) {
      const ended = once(this.#child, 'exit');
      this.#end();
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Deno says where it listens in words of ours, workerd as JSON on the descriptor that it was given for that. */
  #listening(): Promise<URL> {
    return new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (code) => reject(new Error(`Ended with ${code}:\n${this.lines.join('\n')}`)));
      for (const stream of [this.#child.stdout, this.#child.stderr]) {
        createInterface({ input: stream as NodeJS.ReadableStream }).on('line', (line) => {
          this.lines.push(line);
          const port = /^Listening on http:.*:(\d+)$|"port":(\d+)/.exec(line)?.slice(1).find(Boolean);
          if (port !== undefined) resolve(new URL(`http://127.0.0.1:${port}`));
        });
      }
    });
  }
}

async function bundle(host: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [at(`../hosts/${host}`)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    conditions: ['@holdfast/source'],
    mainFields: ['module', 'main'],
    logLevel: 'silent',
  });
}

/** Without `allow` workerd reaches public addresses only; a request has a signal since that flag. */
function workerdConfig(variables: Variables): string {
  const bindings = Object.entries(variables).map(
    ([name, value]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(value)})`,
  );

  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "gateway", worker = .gateway),
    (name = "internet", network = (allow = ["public", "private", "local"]))
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "gateway")]
);
const gateway :Workerd.Worker = (
  modules = [(name = "host.js", esModule = embed "host.js")],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = ["enable_request_signal"],
  bindings = [${bindings.join(', ')}]
);
`;
}

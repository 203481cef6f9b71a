import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { RestartMessage } from '../launch/parent.js';
import type { Addresses } from '../launch/what-to-try.js';
import { ShopLog } from './shop-log.js';

/** Where `npm start` begins, as compiled: the walkthrough starts the shop the way a reader does. */
const ENTRY = new URL('../../dist/launch/start.js', import.meta.url);

/** The shop and its carrier stub on free ports, with keys of their own, and with everything that they print. */
export class ShopProcesses {
  readonly log = new ShopLog();
  private readonly child: ChildProcess;
  private readonly ended: Promise<number | null>;
  private readonly keys = mkdtempSync(join(tmpdir(), 'holdfast-shop-keys-'));

  constructor(environment: Readonly<Record<string, string>> = {}) {
    this.child = fork(fileURLToPath(ENTRY), {
      env: { ...process.env, ...this.ownEnvironment, ...environment },
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.ended = once(this.child, 'exit').then(([code]) => {
      rmSync(this.keys, { recursive: true, force: true });
      return code as number | null;
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream) {
        createInterface({ input: stream }).on('line', (line) => this.log.add(line));
      }
    }
  }

  private get ownEnvironment(): Readonly<Record<string, string>> {
    const ports = { PORT: '0', MESSAGE_PORT: '0', CARRIER_PORT: '0' };

    return { ...ports, KEYS_FOLDER: this.keys, DATABASE_URL: '', REDIS_URL: '', NO_COLOR: '1' };
  }

  /** Ends the shop, which then is started again: on the same ports, beside the same carrier. */
  async restart(signal: RestartMessage['restart']): Promise<void> {
    const before = this.log.lines.length;
    this.child.send({ restart: signal } satisfies RestartMessage);
    await Promise.race([this.log.next(`The shop is back after a ${signal}`, before), this.ended]);
  }

  /** The addresses that `npm start` prints once both processes answer. */
  async addresses(): Promise<Addresses> {
    const printed = Promise.all([
      this.log.match(/^Shop: (\S+)$/),
      this.log.match(/^Carrier stub: (\S+)$/),
      this.log.match(/^Messages over TCP: localhost:(\d+)$/),
    ]);
    const addresses = await Promise.race([printed, this.ended]);

    if (!Array.isArray(addresses)) {
      throw new Error(`The shop did not start:\n${this.log.lines.join('\n')}`);
    }
    return { shopUrl: addresses[0], carrierUrl: addresses[1], messagePort: Number(addresses[2]) };
  }

  /** Waits for both processes to be gone; gives the exit code. */
  async exit(): Promise<number | null> {
    return this.ended;
  }

  async stop(signal: 'SIGINT' | 'SIGTERM' = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal);
    return this.ended;
  }
}

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Addresses } from '../launch/what-to-try.js';
import { ShopLog } from './shop-log.js';

/** Where `npm start` begins, as compiled: the walkthrough starts the shop the way a reader does. */
const ENTRY = new URL('../../dist/launch/start.js', import.meta.url);

/** The shop and its carrier stub on free ports, with everything that they print. */
export class ShopProcesses {
  readonly log = new ShopLog();
  private readonly child: ChildProcess;
  private readonly ended: Promise<number | null>;

  constructor(environment: Readonly<Record<string, string>> = {}) {
    this.child = fork(fileURLToPath(ENTRY), {
      env: { ...process.env, PORT: '0', MESSAGE_PORT: '0', CARRIER_PORT: '0', NO_COLOR: '1', ...environment },
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.ended = once(this.child, 'exit').then(([code]) => code as number | null);
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream) {
        createInterface({ input: stream }).on('line', (line) => this.log.add(line));
      }
    }
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

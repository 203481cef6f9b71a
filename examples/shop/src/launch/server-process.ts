import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ListeningMessage } from './parent.js';

/** How long requests in flight may take at the end, before the process is ended the hard way. */
const GRACE_MS = 5000;

/** A child process that serves a port, and writes to our own output. */
export class ServerProcess {
  /** Settles once the process is gone, whatever ended it. */
  readonly ended: Promise<void>;
  private readonly child: ChildProcess;

  constructor(script: URL, environment: Readonly<Record<string, string>> = {}) {
    this.child = fork(fileURLToPath(script), {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.ended = once(this.child, 'exit').then(() => undefined);
  }

  /** Its ports, once requests can come; stays pending when the process ends before that. */
  async listening(): Promise<ListeningMessage> {
    const [message] = (await once(this.child, 'message')) as [ListeningMessage];
    return message;
  }

  /** Ended on purpose, here or by a signal to the whole terminal. */
  get stopped(): boolean {
    return this.child.signalCode === 'SIGINT' || this.child.signalCode === 'SIGTERM';
  }

  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.child.kill(signal);
    const hardWay = setTimeout(() => this.child.kill('SIGKILL'), GRACE_MS);
    await this.ended;
    clearTimeout(hardWay);
  }
}

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { PaymentServerName } from './payment-server-process.js';
import { openPosting } from './post-loopback.js';
import { REPEATED_POST } from './payments.js';
import type { KeepAliveClient } from './keep-alive-client.js';

const ENTRY = fileURLToPath(new URL('./payment-server-process.js', import.meta.url));

const CONNECTIONS = 16;
const WARM_UP_MS = 500;
const SLICE_MS = 250;

/** A server in a process of its own, and connections of clients in this one that repeat one payment. */
export class PaymentServer {
  readonly #clients: readonly KeepAliveClient[];

  private constructor(clients: readonly KeepAliveClient[]) {
    this.#clients = clients;
  }

  static async start(name: PaymentServerName): Promise<PaymentServer> {
    // On the Node of this process; the server ends with it.
    const child = fork(ENTRY, [name]);
    const port = await portOf(child);
    const clients: KeepAliveClient[] = [];
    while (clients.length < CONNECTIONS) clients.push(await openPosting(port, REPEATED_POST));
    const server = new PaymentServer(clients);
    await server.#answersWithin(WARM_UP_MS);

    return server;
  }

  /** Answers per second of the wall clock: each connection asks again as soon as it has its answer. */
  readonly perSecond = async (): Promise<number> => {
    const startedAt = performance.now();
    const answers = await this.#answersWithin(SLICE_MS);

    return (answers * 1_000) / (performance.now() - startedAt);
  };

  async #answersWithin(ms: number): Promise<number> {
    const until = performance.now() + ms;
    const answers = await Promise.all(this.#clients.map((client) => repeat(client, until)));

    return answers.reduce((sum, each) => sum + each, 0);
  }
}

async function repeat(client: KeepAliveClient, until: number): Promise<number> {
  let answers = 0;
  for (; performance.now() < until; answers++) await client.get();

  return answers;
}

async function portOf(child: ChildProcess): Promise<number> {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`A server ended with ${code}`)));
  const [port] = (await Promise.race([once(child, 'message'), ended])) as [number];
  ended.catch(() => {});

  return port;
}

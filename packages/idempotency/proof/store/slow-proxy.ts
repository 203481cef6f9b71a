import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Passes on what goes to a server and comes from it, as late as it is told to. */
export class SlowProxy {
  /** Milliseconds that each way takes. */
  delay = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number) {
    this.#server = createServer((client) => {
      const server = connect({ port: target, host: '127.0.0.1' });
      this.pass(client, server);
      this.pass(server, client);
    });
  }

  static async start(target: number): Promise<SlowProxy> {
    const proxy = new SlowProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');

    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends every connection, with what is on its way. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  stop(): void {
    this.#server.close();
    this.cut();
  }

  private pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    // One after the other: of two timers that are due at once, the later one may come first.
    let last = Promise.resolve();
    const later = (then: () => void): void => {
      const due = performance.now() + this.delay;
      last = last.then(() => wait(due - performance.now())).then(then);
    };
    from.on('data', (chunk) => later(() => void (to.destroyed || to.write(chunk))));
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      later(() => void to.destroy());
    });
  }
}

async function wait(ms: number): Promise<void> {
  if (ms > 0) await pause(ms);
}

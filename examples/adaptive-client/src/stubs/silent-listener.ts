import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

export interface Identity {
  /** In PEM, both. */
  readonly key: string;
  readonly cert: string;
}

/** Accepts every connection and never says a word; with an identity, not a word after the TLS handshake. */
export class SilentListener {
  /** Connections that came, and those that their client closed. */
  readonly sockets = { opened: 0, closed: 0 };
  /** TLS handshakes that were finished. */
  handshakes = 0;
  readonly server: Server;
  readonly #open = new Set<Socket>();

  constructor(identity?: Identity) {
    this.server = identity === undefined ? createServer() : createTlsServer(identity);
    this.server.on('connection', (socket) => this.follow(socket, identity === undefined));
    this.server.on('secureConnection', (socket: Socket) => {
      this.handshakes += 1;
      socket.on('error', () => {}).resume();
    });
  }

  /** Resolves when all clients have closed their sockets, or after `patienceMs`. */
  async deserted(patienceMs = 1_000): Promise<void> {
    const signal = AbortSignal.timeout(patienceMs);
    const closed = [...this.#open].map((socket) => once(socket, 'close', { signal }));
    await Promise.allSettled(closed);
  }

  /** Hangs up on whoever is still there: a server that listens to nobody waits for them for ever. */
  hangUp(): void {
    for (const socket of this.#open) socket.destroy();
  }

  private follow(socket: Socket, isPlain: boolean): void {
    this.sockets.opened += 1;
    this.#open.add(socket);
    socket.once('close', () => {
      this.sockets.closed += 1;
      this.#open.delete(socket);
    });
    socket.on('error', () => {});
    // Only who reads learns that the other side has left. Of a TLS connection the TLS socket reads.
    if (isPlain) socket.resume();
  }
}

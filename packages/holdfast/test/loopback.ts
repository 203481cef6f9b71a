import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createRawServer, type AddressInfo, type Server as RawServer, type Socket } from 'node:net';
import { afterEach } from 'vitest';

/** A server on the loopback that knows its connections. */
export class Loopback {
  /**
   * The open ones on which something was asked. After an abort the platform's fetch opens another one, which nobody uses
   * and which closes after a while.
   */
  readonly asked = new Set<Socket>();
  /** How many were ever made. */
  connections = 0;
  private readonly open = new Set<Socket>();
  private readonly server: Server | RawServer;

  constructor(server: Server | RawServer) {
    this.server = server;
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.open.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        this.open.delete(socket);
        this.asked.delete(socket);
      });
    });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

const running: Loopback[] = [];

/** Starts servers that stop after each test of the file. */
export function useLoopback(): {
  serve(listener: RequestListener): Promise<Loopback>;
  /** Without HTTP: says nothing. */
  accept(): Promise<Loopback>;
} {
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()));
  });
  const start = (server: Server | RawServer): Promise<Loopback> => {
    const loopback = new Loopback(server);
    running.push(loopback);
    server.on('request', ({ socket }: IncomingMessage) => loopback.asked.add(socket));
    return loopback.listen();
  };

  return {
    serve: (listener) => start(createServer(listener)),
    accept: async () => {
      const server = createRawServer();
      const loopback = await start(server);
      server.on('connection', (socket) => socket.on('data', () => loopback.asked.add(socket)));
      return loopback;
    },
  };
}

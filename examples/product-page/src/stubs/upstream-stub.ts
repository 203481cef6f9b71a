import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Upstream } from '../upstreams.js';
import { isStubMode, STUB_MODES, type StubMode } from './stub-mode.js';

const SLOW_MS = 1_000;
const BYTE_EVERY_MS = 20;

/** A call that its client has given up. */
export interface CutOff {
  /** From the request to the end of its connection, in milliseconds. */
  readonly afterMs: number;
  /** Bytes of the body that had been sent. */
  readonly bytes: number;
}

const BODIES: Readonly<Record<Upstream, unknown>> = {
  catalog: { id: '7', name: 'Cat food, tuna' },
  reviews: { stars: 4.5, count: 128 },
  recommendations: [{ id: '8', name: 'Cat food, salmon' }],
};

/** Stands in for a service, in good and in bad times. */
export class UpstreamStub {
  readonly name: Upstream;
  mode: StubMode = 'answer';
  /** The paths that were asked. */
  readonly asked: string[] = [];
  readonly cutOff: CutOff[] = [];
  private readonly server: Server;

  private constructor(name: Upstream) {
    this.name = name;
    this.server = createServer((request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
  }

  /** Port 0 takes any free one. */
  static async start(name: Upstream, port: number): Promise<UpstreamStub> {
    const stub = new UpstreamStub(name);
    stub.server.listen(port, '127.0.0.1');
    await once(stub.server, 'listening');

    return stub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Hangs up on whoever still waits. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/mode') return this.switchMode(request, response);
    if (request.url === '/stats') return send(response, 200, this.stats);

    this.asked.push(request.url ?? '');
    this.noteCutOff(response, this.mode === 'trickle' ? trickle(response) : () => 0);
    if (this.mode === 'slow') later(response, () => this.answer(response));
    else if (this.mode !== 'hang' && this.mode !== 'trickle') this.answer(response);
  }

  private noteCutOff(response: ServerResponse, bytesSent: () => number): void {
    const cameAt = performance.now();
    response.once('close', () => {
      if (response.writableFinished) return;

      this.cutOff.push({ afterMs: performance.now() - cameAt, bytes: bytesSent() });
    });
  }

  private answer(response: ServerResponse): void {
    if (this.mode === 'fail') send(response, 500, { error: `${this.name} is down` });
    else if (this.mode === 'missing') send(response, 404, { error: `${this.name} has no such thing` });
    else send(response, 200, BODIES[this.name]);
  }

  private get stats(): object {
    return { mode: this.mode, asked: this.asked.length, cutOff: this.cutOff.length };
  }

  private async switchMode(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const mode = await text(request);
    if (!isStubMode(mode)) return send(response, 400, { error: `one of ${STUB_MODES.join(', ')}, not "${mode}"` });

    this.mode = mode;
    send(response, 200, this.stats);
  }
}

/** @returns How many bytes of the body have been sent so far. */
function trickle(response: ServerResponse): () => number {
  let bytes = 0;
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  const timer = setInterval(() => {
    response.write(' ');
    bytes += 1;
  }, BYTE_EVERY_MS);
  response.once('close', () => clearInterval(timer));

  return () => bytes;
}

function later(response: ServerResponse, answer: () => void): void {
  const timer = setTimeout(answer, SLOW_MS);
  response.once('close', () => clearTimeout(timer));
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

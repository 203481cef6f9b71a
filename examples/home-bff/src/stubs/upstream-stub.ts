import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { clientGone } from 'holdfast';
import { close, listen } from '../listening.js';
import { isStubMode, STUB_MODES, type StubMode } from './stub-mode.js';

export interface StubOptions {
  readonly name: string;
  readonly body: unknown;
  /** What its work takes. Default 0. */
  readonly delayMs?: number;
  readonly mode?: StubMode;
  /** Whether the work on a request ends when its client leaves. Default `false`, as of any server on `node:http`. */
  readonly stopsWithClient?: boolean;
}

/** A service that works for a while and answers, fails, or never answers; it counts what it does. */
export class UpstreamStub {
  readonly name: string;
  mode: StubMode;
  /** Requests that came. */
  asked = 0;
  /** Those among them whose client still waits. */
  inFlight = 0;
  /** Those whose work ran to its end, whether anybody waited for that or not. */
  done = 0;
  private origin = '';
  private readonly options: StubOptions;
  private readonly server: Server;

  private constructor(options: StubOptions) {
    this.options = options;
    this.name = options.name;
    this.mode = options.mode ?? 'answer';
    this.server = createServer((request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
  }

  static async start(options: StubOptions, port = 0): Promise<UpstreamStub> {
    const stub = new UpstreamStub(options);
    stub.origin = await listen(stub.server, port);

    return stub;
  }

  get url(): string {
    return this.origin;
  }

  close(): Promise<void> {
    return close(this.server);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/stats') return send(response, 200, this.stats);
    if (request.url === '/mode') return this.switchMode(request, response);

    this.asked += 1;
    this.inFlight += 1;
    response.once('close', () => (this.inFlight -= 1));
    if (this.mode === 'hang') return;

    const { delayMs = 0, stopsWithClient = false } = this.options;
    const signal = stopsWithClient ? clientGone(request, response) : undefined;
    if (delayMs > 0 && !(await passes(delayMs, signal))) return;

    this.done += 1;
    this.answer(response);
  }

  private answer(response: ServerResponse): void {
    if (this.mode === 'fail') send(response, 500, { error: `${this.name} 挂了` });
    else send(response, 200, this.options.body);
  }

  private get stats(): object {
    const { mode, asked, inFlight, done } = this;

    return { mode, asked, inFlight, done };
  }

  private async switchMode(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const mode = await text(request);
    if (!isStubMode(mode)) return send(response, 400, { error: `one of ${STUB_MODES.join(', ')}, not "${mode}"` });

    this.mode = mode;
    send(response, 200, this.stats);
  }
}

/** Whether that time has passed without an abort. */
async function passes(milliseconds: number, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await delay(milliseconds, undefined, signal === undefined ? {} : { signal });
    return true;
  } catch {
    return false;
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

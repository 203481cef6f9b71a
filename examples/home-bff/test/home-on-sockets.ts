import { createServer, request, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach } from 'vitest';
import { close, listen } from '../src/listening.js';
import { createHomeServer } from '../src/server.js';
import { KEYS, upstreamsAt, type Key } from '../src/upstreams.js';

export const USER = { id: 1, name: '金铭', vip: true };
export const ORDER = { count: 3, amount: '128.00' };
export const COUPON = { count: 2 };

export const json = (body: unknown, status = 200): RequestListener => {
  return (_request, response) => void response.writeHead(status).end(JSON.stringify(body));
};

export const hang: RequestListener = () => {};

const DEFAULTS: Readonly<Record<Key, RequestListener>> = { user: json(USER), order: json(ORDER), coupon: json(COUPON) };

export interface Reply {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface RequestShape {
  readonly method?: string;
  readonly body?: string;
}

/** The page's server on real sockets, with services that do as a test likes. */
export class HomeOnSockets {
  url = '';
  /** Requests to the services that have come, and those whose answer is still open. */
  readonly asked: Record<Key, number> = { user: 0, order: 0, coupon: 0 };
  readonly inFlight: Record<Key, number> = { user: 0, order: 0, coupon: 0 };
  readonly #servers: Server[] = [];

  static async start(services: Partial<Record<Key, RequestListener>>): Promise<HomeOnSockets> {
    const home = new HomeOnSockets();
    const origins = await Promise.all(
      KEYS.map(async (key) => [key, await home.#serve(key, services[key] ?? DEFAULTS[key])] as const),
    );
    const server = createHomeServer(upstreamsAt(Object.fromEntries(origins) as Record<Key, string>));
    home.#servers.push(server);
    home.url = await listen(server);

    return home;
  }

  get nothingInFlight(): boolean {
    return KEYS.every((key) => this.inFlight[key] === 0);
  }

  /** As it stands: without a client that tidies paths up. */
  send(path: string, { method = 'GET', body = '' }: RequestShape = {}): Promise<Reply> {
    const length = { 'content-length': Buffer.byteLength(body) };

    return new Promise((resolve, reject) => {
      const sent = request(this.url, { path, method, headers: length, agent: false }, (answer) => {
        const { statusCode: status, headers } = answer;
        text(answer).then((received) => resolve({ status, headers, body: received }), reject);
      });
      sent.on('error', reject).end(body);
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map(close));
  }

  async #serve(key: Key, listener: RequestListener): Promise<string> {
    const server = createServer((incoming, response) => {
      this.asked[key] += 1;
      this.inFlight[key] += 1;
      response.once('close', () => (this.inFlight[key] -= 1));
      listener(incoming, response);
    });
    this.#servers.push(server);

    return listen(server);
  }
}

const running: HomeOnSockets[] = [];

/** Starts servers that stop after each test of the file. */
export function useHome(): (services?: Partial<Record<Key, RequestListener>>) => Promise<HomeOnSockets> {
  afterEach(async () => {
    await Promise.all(running.splice(0).map((home) => home.stop()));
  });

  return async (services = {}) => {
    const home = await HomeOnSockets.start(services);
    running.push(home);
    return home;
  };
}

/** The first `fetch` of a process loads what fetch is made of, which may take longer than a page may. */
export async function warmUp(): Promise<void> {
  const server = createServer(json({}));
  await (await fetch(await listen(server))).text();
  await close(server);
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

/** Answers with JSON at one path, or, when it is told to, late or never. */
export class StubService {
  /** How long it takes, in milliseconds; `Infinity` for ever. `PUT /delay/5000` sets it from outside. */
  delayMs = 0;
  /** Requests that came, and those whose client hung up before the answer. */
  readonly seen = { requests: 0, cancelled: 0 };
  readonly server: Server = createServer((request, response) => this.#receive(request, response));
  readonly #path: string;
  readonly #answer: (request: IncomingMessage) => unknown;

  constructor(path: string, answer: (request: IncomingMessage) => unknown) {
    this.#path = path;
    this.#answer = answer;
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const delay = /^\/delay\/(\d{1,6})$/.exec(request.url ?? '')?.[1];
    if (request.method === 'PUT' && delay !== undefined) {
      this.delayMs = Number(delay);
      response.writeHead(204).end();
      return;
    }
    if (request.url !== this.#path) {
      response.writeHead(404).end();
      return;
    }

    this.seen.requests += 1;
    this.#answerLater(request, response);
  }

  #answerLater(request: IncomingMessage, response: ServerResponse): void {
    const send = (): void => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(this.#answer(request)));
    };
    if (this.delayMs === 0) return send();

    const timer = this.delayMs === Infinity ? undefined : setTimeout(send, this.delayMs);
    response.once('close', () => {
      clearTimeout(timer);
      if (!response.writableFinished) this.seen.cancelled += 1;
    });
  }
}

/** Knows one session that was revoked: that of the token whose subject is `revoked`. */
export function authStub(): StubService {
  return new StubService('/revocations', ({ headers }) => ({
    revoked: subjectOf(headers.authorization) === 'revoked',
  }));
}

export function flagsStub(): StubService {
  return new StubService('/v1/evaluate', () => ({ 'new-cart': true, 'dark-mode': false }));
}

/** A page in two parts, with the headers of one that may be cached. */
export function originStub(): Server {
  return createServer(({ url = '' }, response) => {
    response.writeHead(200, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'private, max-age=60',
      etag: '"page-1"',
    });
    response.write(`The origin's answer to ${url}, first half\n`);
    const timer = setTimeout(() => response.end('second half\n'), 100);
    response.once('close', () => clearTimeout(timer));
  });
}

/** Reads without checking, as the stub of a service behind a gateway that has checked. */
function subjectOf(authorization = ''): unknown {
  try {
    const payload = Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString();

    return (JSON.parse(payload) as { sub?: unknown }).sub;
  } catch {
    return undefined;
  }
}

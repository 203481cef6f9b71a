import { createServer, type Server, type ServerResponse } from 'node:http';

/** A server that answers after a while, or, once it is stuck, accepts requests and answers none. */
export class UpstreamServer {
  delayMs = 0;
  stuck = false;
  readonly server: Server = createServer((_request, response) => this.receive(response));
  /** Requests that came, and those whose client hung up before the answer. */
  readonly seen = { requests: 0, cancelled: 0 };
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  private receive(response: ServerResponse): void {
    this.seen.requests += 1;
    const timer = this.stuck ? undefined : setTimeout(() => response.end(this.#name), this.delayMs);
    response.once('close', () => {
      clearTimeout(timer);
      if (!response.writableFinished) this.seen.cancelled += 1;
    });
  }
}

import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** An answer that is none: its status is 400 or above. */
export class StatusError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The server answered with status ${status}`);
    this.name = 'StatusError';
    this.status = status;
  }
}

export interface GetOptions {
  /** When it aborts, the socket is closed: while it connects, in the middle of a TLS handshake, and later. */
  readonly signal: AbortSignal;
  /** Whose certificates are trusted, in PEM; otherwise those that Node knows. */
  readonly ca?: string | undefined;
}

/**
 * A GET, and the text of its answer.
 *
 * Not `fetch()`, which leaves a connection that is being made to its own limit of ten seconds when the signal aborts.
 *
 * @throws StatusError, or the error of the socket.
 */
export function get(url: URL, { signal, ca }: GetOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const received = (answer: IncomingMessage): void => void read(answer).then(resolve, reject);
    const request =
      url.protocol === 'https:' ? httpsGet(url, { signal, ca }, received) : httpGet(url, { signal }, received);
    // It stays: an abort after the answer has begun is an error of the request as well.
    request.on('error', reject);
  });
}

async function read(answer: IncomingMessage): Promise<string> {
  const body = await text(answer);
  const status = answer.statusCode ?? 0;
  if (status >= 400) throw new StatusError(status);

  return body;
}

import type { ServerResponse } from 'node:http';

/**
 * Whether a client is still there. Its request cannot tell: it is closed as soon as its body has been read. Neither is
 * the response's own `close` listened for: Nest and Fastify do that as often as Node tolerates, and a response that
 * waits for those before it on the connection does not hear of its end. What can tell is the connection, or with
 * HTTP/2, where many requests share one, the stream.
 */

interface Closable {
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
  removeListener(event: 'close', listener: () => void): unknown;
}

interface Http2Stream extends Closable {
  /** 0 unless one of both sides has cut it off. */
  readonly rstCode: number;
}

/** With HTTP/2 the stream of a response. */
function streamOf(response: ServerResponse): Http2Stream | undefined {
  return (response as { readonly stream?: Http2Stream }).stream;
}

/** `undefined` with runtimes that imitate Node's server, and have no connection that could close. */
function connectionOf(response: ServerResponse): Closable | undefined {
  const connection: Closable | undefined = streamOf(response) ?? response.req?.socket;

  return typeof connection?.once === 'function' ? connection : undefined;
}

/** Whether a response has left as a whole. A stream of HTTP/2 that was cut off looks finished too. */
export function isSent(response: ServerResponse): boolean {
  const stream = streamOf(response);

  return stream === undefined ? response.writableFinished : response.writableEnded && stream.rstCode === 0;
}

/** Whether nobody can receive any more what has not left yet. */
export function isCutOff(response: ServerResponse): boolean {
  return connectionOf(response)?.destroyed === true && !isSent(response);
}

/** What waits for a connection: one listener for all, since a client may send any number of requests at once. */
class ConnectionWatch {
  private readonly connection: Closable;
  private readonly waiting = new Set<() => void>();
  private readonly callAll = (): void => [...this.waiting].forEach((call) => call());

  constructor(connection: Closable) {
    this.connection = connection;
  }

  join(listener: () => void): void {
    if (this.waiting.size === 0) this.connection.once('close', this.callAll);
    this.waiting.add(listener);
  }

  leave(listener: () => void): void {
    if (this.waiting.delete(listener) && this.waiting.size === 0) {
      this.connection.removeListener('close', this.callAll);
    }
  }
}

const watches = new WeakMap<Closable, ConnectionWatch>();

/**
 * Calls `listener` when the connection of a response closes, in the next tick when it has closed already.
 *
 * @returns What stops waiting. Nothing stands on the connection once nobody waits.
 */
export function onConnectionClosed(response: ServerResponse, listener: () => void): () => void {
  const connection = connectionOf(response);
  if (connection === undefined) return () => {};
  if (connection.destroyed) {
    process.nextTick(listener);
    return () => {};
  }

  const watch = watches.get(connection) ?? new ConnectionWatch(connection);
  watches.set(connection, watch);
  watch.join(listener);
  return () => watch.leave(listener);
}

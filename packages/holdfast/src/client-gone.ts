import { ClientDisconnectedError } from './errors.js';

/**
 * Whether whoever sent a request still waits for its answer. The request cannot tell: it is closed as soon as its body
 * has been read. The response can, since it closes either when it was sent or when nobody can receive it any more.
 *
 * The shapes are those of `node:http` and of the compatible interface of `node:http2`; frameworks hand them out as
 * they are, or as `raw`.
 */

interface Closable {
  on(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
}

/** What is looked at of an `IncomingMessage` or an `Http2ServerRequest`. */
export interface ServedRequest {
  readonly socket: (Closable & { readonly destroyed: boolean }) | null | undefined;
}

/** What is looked at of a `ServerResponse` or an `Http2ServerResponse`. */
export interface ServedResponse extends Closable {
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly destroyed?: boolean;
  readonly socket?: unknown;
  /** With HTTP/2. */
  readonly stream?: { readonly destroyed: boolean };
}

/**
 * A signal for the work on a request: aborts with a `ClientDisconnectedError` when the client leaves before its answer
 * was sent, at once when it has left already, and never after that. Leaves no listener once the response is closed.
 */
export function clientGone(request: ServedRequest, response: ServedResponse): AbortSignal {
  const controller = new AbortController();
  onClientGone(request, response, () => controller.abort(new ClientDisconnectedError('client-gone')));

  return controller.signal;
}

/**
 * Calls back, once, when the client leaves before its answer was sent; before it returns, when it has left already.
 *
 * @returns What stops watching. Not needed once the response is closed.
 */
export function onClientGone(request: ServedRequest, response: ServedResponse, callback: () => void): () => void {
  if (isSent(response)) return () => {};
  if (hasLeft(request, response)) {
    callback();
    return () => {};
  }

  const stop = (): void => {
    response.off('close', close);
    leaveQueue?.();
  };
  const close = (): void => {
    stop();
    if (!isSent(response)) callback();
  };
  response.on('close', close);
  const leaveQueue = isQueued(response) ? onSocketClose(request.socket, close) : undefined;
  return stop;
}

/** With HTTP/2, what was cut off looks finished too, but nobody has ended it. */
function isSent(response: ServedResponse): boolean {
  return response.writableEnded && response.writableFinished;
}

function hasLeft({ socket }: ServedRequest, response: ServedResponse): boolean {
  return response.destroyed === true || response.stream?.destroyed === true || socket?.destroyed === true;
}

/** Of pipelined requests all but the first: a response that has no socket yet is not closed together with it. */
function isQueued(response: ServedResponse): boolean {
  return response.socket === null;
}

/** Those who wait for one socket to close, with one listener however many requests a client has sent ahead. */
class SocketWatch {
  private readonly waiting = new Set<() => void>();
  private readonly socket: Closable;
  private readonly closeAll = (): void => [...this.waiting].forEach((close) => close());

  constructor(socket: Closable) {
    this.socket = socket;
  }

  join(close: () => void): void {
    if (this.waiting.size === 0) this.socket.on('close', this.closeAll);
    this.waiting.add(close);
  }

  leave(close: () => void): void {
    this.waiting.delete(close);
    if (this.waiting.size === 0) this.socket.off('close', this.closeAll);
  }
}

const watches = new WeakMap<object, SocketWatch>();

function onSocketClose(socket: ServedRequest['socket'], close: () => void): (() => void) | undefined {
  if (socket === null || socket === undefined) return undefined;

  const watch = watches.get(socket) ?? new SocketWatch(socket);
  watches.set(socket, watch);
  watch.join(close);
  return () => watch.leave(close);
}

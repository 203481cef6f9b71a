import { ClientDisconnectedError } from './errors.js';
import { hiddenField } from './hidden-field.js';

/**
 * Whether whoever sent a request still waits for its answer. The request cannot tell: it is closed as soon as its body
 * has been read. What can is the connection or, with HTTP/2, where many requests share one, the stream. The response's
 * own `close` says less: before Node 24, one that waits behind others on its connection does not hear of the end. And
 * frameworks that stream a body listen for it about as often as Node tolerates without a warning.
 *
 * The shapes are those of `node:http` and of the compatible interface of `node:http2`; frameworks hand them out as
 * they are, or as `raw`.
 */

interface Closable {
  on(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
}

interface Connection extends Closable {
  readonly destroyed: boolean;
}

/** What is looked at of an `IncomingMessage` or an `Http2ServerRequest`. */
export interface ServedRequest {
  readonly socket: Connection | null | undefined;
}

/** What is looked at of a `ServerResponse` or an `Http2ServerResponse`. */
export interface ServedResponse extends Closable {
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly destroyed?: boolean;
  /** With HTTP/2. */
  readonly stream?: Connection;
}

/**
 * A signal for the work on a request: aborts with a `ClientDisconnectedError` when the client leaves before its answer
 * was sent, at once when it has left already, and never after that. Leaves no listener once the response is closed.
 *
 * Over HTTP/1.1 Node stops reading from a connection while more of a request's body waits to be read than it takes in
 * ahead (64 kB, 16 kB on Node 20). Until it is read, nothing tells that a client has left.
 */
export function clientGone(request: ServedRequest, response: ServedResponse): AbortSignal {
  const controller = new AbortController();
  const leave = (): void => controller.abort(new ClientDisconnectedError('client-gone'));
  if (isClientGone(request, response)) leave();
  if (controller.signal.aborted || isSent(response)) return controller.signal;

  const end = (): void => {
    stops.forEach((stop) => stop());
    if (!isSentAtEnd(request, response)) leave();
  };
  // A connection outlives the response, whose own end is the sign to forget it.
  const stops = [onConnectionClosed(request, response, end), onClose(response, end)];
  return controller.signal;
}

/**
 * Calls back, once, when the client leaves before its answer was sent; before it returns, when it has left already.
 *
 * @returns What stops watching: to be called when the answer is under way, since a connection that is kept remembers.
 */
export function onClientGone(
  request: ServedRequest | undefined,
  response: ServedResponse,
  callback: () => void,
): () => void {
  if (isClientGone(request, response)) {
    callback();
    return () => {};
  }
  if (isSent(response)) return () => {};

  return onConnectionClosed(request, response, () => {
    if (!isSent(response)) callback();
  });
}

/**
 * Calls back, once, when the connection of a response that is still open closes; with HTTP/2, when its stream does.
 * Listens on nothing else, except with imitations of Node's server that have no connection: there the response itself
 * has to tell. What cannot be listened to, never does.
 *
 * @returns What stops watching: a connection that is kept remembers.
 */
export function onConnectionClosed(
  request: ServedRequest | undefined,
  response: ServedResponse,
  callback: () => void,
): () => void {
  const connection = connectionOf(request, response);

  return onClose(isClosable(connection) ? connection : response, callback);
}

/** Whether nobody can receive any more what has not left yet. */
export function isClientGone(request: ServedRequest | undefined, response: ServedResponse): boolean {
  return !isSent(response) && (response.destroyed === true || connectionOf(request, response)?.destroyed === true);
}

/**
 * Whether a response has left as a whole. With HTTP/2, what was cut off before its end looks finished too, and what was
 * cut off after it looks ended.
 */
export function isSent(response: ServedResponse): boolean {
  return response.writableEnded && response.writableFinished;
}

/**
 * The same in the very moment when a response finishes, or it or its connection closes. Over HTTP/1.1, Node 20 and 22
 * call finished also what was cut off after all of it had been written; but then the connection has been lost before.
 */
export function isSentAtEnd(request: ServedRequest | undefined, response: ServedResponse): boolean {
  const isLost = response.stream === undefined && request?.socket?.destroyed === true;

  return !isLost && isSent(response);
}

/** With HTTP/2 the socket of a request is a proxy, which adds listeners to the stream and removes them elsewhere. */
function connectionOf(
  request: ServedRequest | undefined,
  response: ServedResponse,
): Partial<Connection> | null | undefined {
  return response.stream ?? request?.socket;
}

function isClosable<Source extends Closable | Closing>(source: Partial<Source> | null | undefined): source is Source {
  return typeof source?.on === 'function' && typeof source.off === 'function';
}

type Callback = () => void;

/** How things tell that they have closed: connections and streams of Node and of `ws`, and sockets of Socket.IO. */
type ClosingEvent = 'close' | 'disconnect';

interface Closing {
  on(event: ClosingEvent, listener: Callback): unknown;
  off(event: ClosingEvent, listener: Callback): unknown;
}

/** Those who wait for one thing to close, with one listener however many requests a client has sent at once. */
class CloseWatch {
  private readonly source: Closing;
  private readonly event: ClosingEvent;
  /** Most connections carry one request at a time. */
  private first: Callback | undefined = undefined;
  private others: Set<Callback> | undefined = undefined;

  constructor(source: Closing, event: ClosingEvent) {
    this.source = source;
    this.event = event;
  }

  join(callback: Callback): void {
    if (this.isEmpty) this.source.on(this.event, this.closeAll);
    if (this.first === undefined) this.first = callback;
    else (this.others ??= new Set()).add(callback);
  }

  leave(callback: Callback): void {
    if (this.forget(callback) && this.isEmpty) this.source.off(this.event, this.closeAll);
  }

  private get isEmpty(): boolean {
    return this.first === undefined && (this.others === undefined || this.others.size === 0);
  }

  private forget(callback: Callback): boolean {
    if (this.first !== callback) return this.others?.delete(callback) === true;

    this.first = undefined;
    return true;
  }

  /** Each leaves before it is called, and who is stopped by one before it is not called. */
  private readonly closeAll = (): void => {
    const { first } = this;
    if (first !== undefined) this.close(first);
    this.others?.forEach((callback) => this.close(callback));
  };

  private close(callback: Callback): void {
    this.leave(callback);
    callback();
  }
}

const watchOf = {
  close: hiddenField<Closing, CloseWatch>(),
  disconnect: hiddenField<Closing, CloseWatch>(),
} as const;

/**
 * Calls back, once, when something closes. It hears of any number of callbacks as one listener. What cannot be listened
 * to never closes.
 *
 * @param event How it tells. Default `'close'`.
 * @returns What stops watching.
 */
export function onClose(source: Partial<Closing>, callback: Callback, event: ClosingEvent = 'close'): () => void {
  if (!isClosable(source)) return () => {};

  const watch = watchFor(source, event);
  watch.join(callback);
  return () => watch.leave(callback);
}

function watchFor(source: Closing, event: ClosingEvent): CloseWatch {
  const known = watchOf[event].of(source);
  if (known !== undefined) return known;

  const watch = new CloseWatch(source, event);
  watchOf[event].give(source, watch);
  return watch;
}

import { onClose } from 'holdfast/binding';
import type { Exchange } from './transport.js';

/** What is looked at of the socket that a connection runs over. */
interface NetSocket {
  readonly destroyed?: boolean;
  on?(event: 'close', listener: () => void): unknown;
  off?(event: 'close', listener: () => void): unknown;
}

/** What the context of a message over TCP offers; told by its shape, since there may be several copies of its package. */
interface TcpMessage {
  getSocketRef(): { readonly netSocket?: NetSocket } | undefined;
}

/** A call over TCP. Its connection carries other calls as well, and all of them end with it. */
export class TcpConnection implements Exchange {
  constructor(private readonly socket: NetSocket) {}

  /** Of what Nest hands to a handler beside the data; `undefined` for other transports. */
  static of(message: unknown): TcpConnection | undefined {
    if (typeof (message as Partial<TcpMessage> | null | undefined)?.getSocketRef !== 'function') return undefined;

    const socket = (message as TcpMessage).getSocketRef()?.netSocket;
    return socket === undefined ? undefined : new TcpConnection(socket);
  }

  /** What a handler answers goes through the interceptor. */
  hasBegun(): boolean {
    return false;
  }

  get clientLeft(): boolean {
    return this.socket.destroyed === true;
  }

  onClientLeft(listener: () => void): () => void {
    return onClose(this.socket, listener);
  }
}

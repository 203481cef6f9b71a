import type { ExecutionContext } from '@nestjs/common';
import { onClose } from 'holdfast/binding';
import type { Acknowledgement } from './acknowledgement.js';
import type { Exchange } from './transport.js';

type Listen = (event: 'close' | 'disconnect', listener: () => void) => unknown;

/** A socket of `ws`, told by its shape, as Nest does it. */
interface NativeSocket {
  /** 2 when its client has begun to leave, 3 when it has left. */
  readonly readyState: number;
  readonly on?: Listen;
  readonly off?: Listen;
}

/** One of Socket.IO. */
interface IoSocket {
  readonly connected: boolean;
  readonly on?: Listen;
  readonly off?: Listen;
}

/** Handlers get it first. */
const SOCKET = 0;

const CLOSING = 2;

/** One message of a client, whose socket carries others as well. */
export class WebSocketMessage implements Exchange {
  readonly outlivesClient = true;

  private constructor(
    private readonly socket: NativeSocket | IoSocket,
    private readonly acknowledgement: Acknowledgement | undefined,
  ) {}

  /** `undefined` for sockets of other adapters. */
  static of(context: ExecutionContext, acknowledgement: Acknowledgement | undefined): WebSocketMessage | undefined {
    const socket = context.getArgByIndex<Partial<NativeSocket & IoSocket> | null | undefined>(SOCKET);
    const isKnown = typeof socket?.readyState === 'number' || typeof socket?.connected === 'boolean';

    return isKnown ? new WebSocketMessage(socket as NativeSocket | IoSocket, acknowledgement) : undefined;
  }

  /** What a handler returns goes through the interceptor; what it acknowledges by itself does not. */
  hasBegun(): boolean {
    return this.acknowledgement?.isSent === true;
  }

  onReplaced(value: unknown): void {
    this.acknowledgement?.sendReplacement(value);
  }

  get clientLeft(): boolean {
    return 'readyState' in this.socket ? this.socket.readyState >= CLOSING : !this.socket.connected;
  }

  onClientLeft(listener: () => void): () => void {
    return onClose(this.socket, listener, 'readyState' in this.socket ? 'close' : 'disconnect');
  }
}

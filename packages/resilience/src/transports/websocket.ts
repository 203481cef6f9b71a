import type { ResilienceError } from 'holdfast';
import type { HandlerKinds } from '../entrypoint/handler.js';
import { payloadOf } from './client-answer.js';
import { PeerPackage } from './peer-package.js';
import type { Exchange, Transport } from './transport.js';

/** Messages over WebSockets, on `ws` and Socket.IO. */
export class WebSocketTransport implements Transport {
  /** Handlers may stream, and each value leaves as it comes. */
  readonly answersOnce = false;
  private readonly websockets = new PeerPackage('@nestjs/websockets', () =>
    import('@nestjs/websockets').catch(() => undefined),
  );

  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    if (kinds.some(({ websocket }) => websocket)) await this.websockets.load();
  }

  exchangeOf(): Exchange | undefined {
    return undefined;
  }

  isSafe(): undefined {
    return undefined;
  }

  translate(error: ResilienceError): unknown {
    const { module } = this.websockets;
    if (module === undefined) return error;

    return Object.assign(new module.WsException(payloadOf(error)), { cause: error });
  }
}

import type { ExecutionContext } from '@nestjs/common';
import type { WsException } from '@nestjs/websockets';
import type { ResilienceError } from 'holdfast';
import { PeerPackage, type HandlerKinds } from 'holdfast/nest';
import { Acknowledgement } from './acknowledgement.js';
import { payloadOf } from './client-answer.js';
import { isCaughtByFilter } from './exception-filters.js';
import { binding } from '../binding.js';
import type { Transport } from './transport.js';
import { WebSocketMessage } from './websocket-message.js';

/** Interceptors around the handler would take a value for its reply. */
const NOTHING: readonly unknown[] = [];

/** Messages over WebSockets, on `ws` and Socket.IO. */
export class WebSocketTransport implements Transport {
  /** Handlers may stream, and each value leaves as it comes. */
  readonly answersOnce = false;
  /** Filters would hear of a failure, and nobody else. */
  readonly endsSilently = true;
  private readonly websockets = new PeerPackage({
    name: '@nestjs/websockets',
    binding,
    bundled: () => import('@nestjs/websockets').catch(() => undefined),
  });

  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    if (kinds.some(({ websocket }) => websocket)) await this.websockets.load();
  }

  exchangeOf(context: ExecutionContext): WebSocketMessage | undefined {
    return WebSocketMessage.of(context, Acknowledgement.watch(context));
  }

  follow(context: ExecutionContext): void {
    Acknowledgement.watch(context);
  }

  isSafe(): undefined {
    return undefined;
  }

  translate(error: ResilienceError): unknown {
    const { module } = this.websockets;
    if (module === undefined) return error;

    return Object.assign(new module.WsException(payloadOf(error)), { cause: error });
  }

  /**
   * Nest sends errors as an event, and never the acknowledgement that the client of a message may be waiting for. Where
   * filters are in charge of errors, they are of this as well.
   */
  answerFailure(error: unknown, context: ExecutionContext, hasBegun: boolean): readonly unknown[] | undefined {
    if (hasBegun || !isPayload(error)) return undefined;

    const acknowledgement = Acknowledgement.watch(context);
    if (acknowledgement === undefined || acknowledgement.isSent) return undefined;
    if (isCaughtByFilter(error, context)) return undefined;

    acknowledgement.send(error.getError());
    return NOTHING;
  }
}

/** Without the package of websockets, errors are what they were. */
function isPayload(error: unknown): error is WsException {
  return typeof (error as Partial<WsException> | null | undefined)?.getError === 'function';
}

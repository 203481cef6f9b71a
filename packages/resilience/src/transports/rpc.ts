import type { ExecutionContext } from '@nestjs/common';
import type { ResilienceError } from 'holdfast';
import { messageHeader, type HandlerKinds, type RpcExceptions } from 'holdfast/nest';
import { payloadOf } from './client-answer.js';
import { TcpConnection } from './tcp-connection.js';
import type { Exchange, Transport } from './transport.js';

/** Handlers get the data, and this: the context of their transport. */
const MESSAGE = 1;

/** Messages and events of any microservice transport but gRPC. */
export class RpcTransport implements Transport {
  /** Handlers may stream, and each value leaves as it comes. */
  readonly answersOnce = false;
  /** The failure of an event handler is logged, and nobody is there who could be told anything else. */
  readonly endsSilently = true;

  constructor(private readonly exceptions: RpcExceptions) {}

  prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    return this.exceptions.prepare(kinds);
  }

  exchangeOf(context: ExecutionContext): Exchange | undefined {
    return TcpConnection.of(context.getArgByIndex(MESSAGE));
  }

  isSafe(): undefined {
    return undefined;
  }

  headerOf(context: ExecutionContext, name: string): string | readonly string[] | undefined {
    return messageHeader(context.getArgByIndex(MESSAGE), name);
  }

  translate(error: ResilienceError): unknown {
    return this.exceptions.wrap(error, payloadOf(error));
  }
}

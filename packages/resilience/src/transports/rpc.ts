import type { ResilienceError } from 'holdfast';
import type { HandlerKinds } from '../entrypoint/handler.js';
import { payloadOf } from './client-answer.js';
import type { RpcExceptions } from './rpc-exceptions.js';
import type { Exchange, Transport } from './transport.js';

/** Messages and events of any microservice transport but gRPC. */
export class RpcTransport implements Transport {
  /** Handlers may stream, and each value leaves as it comes. */
  readonly answersOnce = false;

  constructor(private readonly exceptions: RpcExceptions) {}

  prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    return this.exceptions.prepare(kinds);
  }

  exchangeOf(): Exchange | undefined {
    return undefined;
  }

  isSafe(): undefined {
    return undefined;
  }

  translate(error: ResilienceError): unknown {
    return this.exceptions.wrap(error, payloadOf(error));
  }
}

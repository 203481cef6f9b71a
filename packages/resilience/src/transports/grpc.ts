import type { ExecutionContext } from '@nestjs/common';
import type { RpcException } from '@nestjs/microservices';
import { ClientDisconnectedError, SectionFailedError, type ResilienceError } from 'holdfast';
import {
  grpcCallOf,
  passedThroughCallOf,
  payloadMetadata,
  type GrpcCall,
  type HandlerKinds,
  type RpcExceptions,
} from 'holdfast/nest';
import { payloadOf } from './client-answer.js';
import { callbackOf, GrpcExchange, patienceOf, type GrpcCallback } from './grpc-call.js';
import type { Transport } from './transport.js';

/** The trailing metadata in which callers find what other transports send as the payload, as JSON. */
const ERROR_METADATA = 'x-resilience-error';

const CANCELLED = 1;
const NOT_FOUND = 5;
const UNAVAILABLE = 14;

/** The statuses of gRPC that clients and proxies act upon. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['TIMEOUT', 4],
  ['DEADLINE_EXCEEDED', 4],
  ['BULKHEAD_FULL', 8],
  ['RATE_LIMITED', 8],
  ['CIRCUIT_OPEN', UNAVAILABLE],
]);

/** What handlers that answer by themselves return; Nest waits for it. */
const AS_RETURNED: readonly unknown[] = [undefined];

/** gRPC, with any kind of method. */
export class GrpcTransport implements Transport {
  /** Handlers may stream, and each value leaves as it comes. */
  readonly answersOnce = false;

  constructor(private readonly exceptions: RpcExceptions) {}

  prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    return this.exceptions.prepare(kinds);
  }

  /** None where the handler has the call itself: only it knows whether it has answered, and grpc-js tells it the rest. */
  exchangeOf(context: ExecutionContext): GrpcExchange | undefined {
    const call = passedThroughCallOf(context) === undefined ? grpcCallOf(context) : undefined;

    return call && new GrpcExchange(call);
  }

  isSafe(): undefined {
    return undefined;
  }

  headerOf(context: ExecutionContext, name: string): readonly string[] {
    return (grpcCallOf(context)?.metadata.get(name) ?? []).map(String);
  }

  /** Whatever `deadlineHeaders` says: a deadline is part of the protocol, and its server ends the call by it. */
  patienceOf(context: ExecutionContext): number | undefined {
    const call = grpcCallOf(context);

    return call && patienceOf(call);
  }

  translate(error: ResilienceError, context: ExecutionContext): unknown {
    const payload = payloadOf(error);
    const call = grpcCallOf(context);

    return this.exceptions.wrap(error, {
      code: statusOf(error),
      message: payload.message,
      ...(call && { metadata: payloadMetadata(call, ERROR_METADATA, payload) }),
      [Symbol.toPrimitive]: readAsCancelled,
    });
  }

  answersAlone(context: ExecutionContext): boolean {
    return passedThroughCallOf(context) !== undefined;
  }

  /** Where a handler answers by itself, Nest has no way to: there, an error would end the process. */
  answerFailure(error: unknown, context: ExecutionContext): readonly unknown[] | undefined {
    const call = passedThroughCallOf(context);
    if (call === undefined) return undefined;

    if (!call.cancelled) sendError((error as RpcException).getError(), call, callbackOf(context));
    return AS_RETURNED;
  }
}

/**
 * With streams both ways Nest tells the handler's request stream of the error that the call ends with, unless that reads
 * as a cancellation: then it completes. Handlers seldom listen for errors of their client, and RxJS ends the process
 * over one that nobody listens for.
 */
function readAsCancelled(this: { readonly message: string }): string {
  return `cancelled: ${this.message}`;
}

function sendError(error: unknown, call: GrpcCall, callback: GrpcCallback | undefined): void {
  if (callback === undefined) call.emit('error', error);
  else callback(error);
}

function statusOf(error: ResilienceError): number {
  if (error instanceof ClientDisconnectedError) return CANCELLED;
  if (error instanceof SectionFailedError) return [404, 410].includes(error.status) ? NOT_FOUND : UNAVAILABLE;

  return STATUSES.get(error.code) ?? UNAVAILABLE;
}

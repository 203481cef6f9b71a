import { emptyMetadata, type GrpcCall } from 'holdfast/nest';
import { encodeValue } from '../record/stored-value.js';
import type { IdempotencyStoredResponse } from '../store.js';
import { isHttpException, storedHttpError } from './http-error.js';

const CLIENT_ERROR = 400;
const INTERNAL_ERROR = 500;

/** What the statuses of gRPC mean in numbers of HTTP, as its gateways map them. */
const HTTP_STATUSES: ReadonlyMap<unknown, number> = new Map([
  [3, 400],
  [4, 504],
  [5, 404],
  [6, 409],
  [7, 403],
  [8, 429],
  [9, 400],
  [10, 409],
  [11, 400],
  [12, 501],
  [14, 503],
  [16, 401],
]);

interface PayloadShape {
  readonly statusCode?: unknown;
  readonly code?: unknown;
  /** Of gRPC. */
  readonly metadata?: unknown;
}

/**
 * What an error ends a message with, as it is kept.
 *
 * @param call That of a handler on gRPC.
 */
export function storedMessageError(error: unknown, call: GrpcCall | undefined): IdempotencyStoredResponse {
  if (isHttpException(error) || !isRpcException(error)) return { ...storedHttpError(error), headers: {} };

  const payload: unknown = error.getError();
  return {
    status: statusOf(asObject(payload), call),
    headers: {},
    body: encodeValue(call === undefined ? payload : withPlainMetadata(payload)),
    error: 'rpc',
  };
}

/** The payload that was thrown, made from what is kept of it. */
export function replayedPayload(kept: unknown, call: GrpcCall | undefined): object | string {
  const { metadata } = asObject(kept);
  if (call === undefined || typeof metadata !== 'object' || metadata === null) return kept as object | string;

  const sent = emptyMetadata(call);
  for (const [name, values] of Object.entries(metadata)) {
    for (const value of [values as unknown].flat()) sent.add(name, value);
  }
  return { ...(kept as object), metadata: sent };
}

interface RpcExceptionShape {
  getError(): unknown;
}

/** By shape, since there may be several copies of its package. */
function isRpcException(error: unknown): error is RpcExceptionShape {
  return typeof (error as Partial<RpcExceptionShape> | undefined | null)?.getError === 'function';
}

function statusOf({ statusCode, code }: PayloadShape, call: GrpcCall | undefined): number {
  if (Number.isInteger(statusCode) && (statusCode as number) >= 400 && (statusCode as number) <= 599) {
    return statusCode as number;
  }
  if (call === undefined || typeof code !== 'number') return CLIENT_ERROR;

  return HTTP_STATUSES.get(code) ?? INTERNAL_ERROR;
}

/** Metadata is a class of a package that is not ours to load: what it holds is kept, by name. */
function withPlainMetadata(payload: unknown): unknown {
  const { metadata } = asObject(payload);
  const { toJSON } = asObject(metadata) as { readonly toJSON?: unknown };

  return typeof toJSON === 'function'
    ? { ...(payload as object), metadata: toJSON.call(metadata) as unknown }
    : payload;
}

function asObject(value: unknown): PayloadShape {
  return typeof value === 'object' && value !== null ? value : {};
}

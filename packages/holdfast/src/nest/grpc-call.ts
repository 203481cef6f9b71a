import type { ExecutionContext } from '@nestjs/common';

/** What is used of the metadata of `@grpc/grpc-js`. */
export interface GrpcMetadata {
  get(name: string): readonly unknown[];
  set(name: string, value: string): void;
  add(name: string, value: unknown): void;
}

/** What is used of its calls, as a server sees them. All four kinds are alike in this. */
export interface GrpcCall {
  readonly metadata: GrpcMetadata;
  readonly cancelled: boolean;
  getDeadline(): number | Date;
  /** Of the method, such as `/shop.Quotes/Get`. */
  getPath?(): string;
  on(event: 'cancelled', listener: () => void): unknown;
  off(event: 'cancelled', listener: () => void): unknown;
  emit(event: 'error', error: unknown): boolean;
}

/** Handlers get the request, the metadata and the call; those of `@GrpcStreamCall()` the call alone. */
const CALL = 2;

/** The call of a handler on gRPC; `undefined` on any other transport. Told by its shape: the package is not ours to load. */
export function grpcCallOf(context: ExecutionContext): GrpcCall | undefined {
  const behindRequest = context.getArgByIndex<unknown>(CALL);

  return isGrpcCall(behindRequest) ? behindRequest : passedThroughCallOf(context);
}

/** The call of a handler that reads from and writes to it by itself (`@GrpcStreamCall()`). */
export function passedThroughCallOf(context: ExecutionContext): GrpcCall | undefined {
  const first = context.getArgByIndex<unknown>(0);

  return isGrpcCall(first) ? first : undefined;
}

function isGrpcCall(value: unknown): value is GrpcCall {
  if (typeof value !== 'object' || value === null) return false;

  const call = value as { readonly getDeadline?: unknown; readonly sendMetadata?: unknown };
  return typeof call.getDeadline === 'function' && typeof call.sendMetadata === 'function';
}

/** Made by the class of the call's own metadata, since grpc-js is not ours to load. */
export function emptyMetadata({ metadata }: GrpcCall): GrpcMetadata {
  return new (metadata.constructor as new () => GrpcMetadata)();
}

/**
 * Trailing metadata in which callers find what other transports send as the payload of an error, as JSON.
 *
 * @param name In lower case.
 */
export function payloadMetadata(call: GrpcCall, name: string, payload: object): GrpcMetadata {
  const metadata = emptyMetadata(call);
  metadata.set(name, inAscii(JSON.stringify(payload)));

  return metadata;
}

/** Metadata takes printable ASCII only. */
function inAscii(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

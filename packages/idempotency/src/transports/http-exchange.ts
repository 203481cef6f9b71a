import type { ExecutionContext } from '@nestjs/common';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { IdempotencyStoredResponse } from '../store.js';

interface RawRequest {
  readonly rawHeaders?: readonly string[];
  readonly aborted?: boolean;
  readonly complete?: boolean;
  /** Of HTTP/2. */
  readonly stream?: { readonly endAfterHeaders?: boolean; readonly readableEnded?: boolean };
}

/** What requests of Express and Fastify have in common. */
export interface HttpRequest extends RawRequest {
  readonly method: string;
  readonly url: string;
  readonly originalUrl?: string;
  /** With its port, as the framework trusts proxies to tell it. */
  readonly host?: string;
  /** Without its port. */
  readonly hostname?: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw?: RawRequest;
  readonly body?: unknown;
  readonly user?: unknown;
}

/** What responses of Express and Fastify have in common. */
export interface HttpResponse {
  readonly statusCode: number;
  readonly headersSent?: boolean;
  /** Fastify: also when a handler has taken the response over. */
  readonly sent?: boolean;
  readonly raw?: { readonly headersSent?: boolean };
  getHeader?(name: string): unknown;
}

export function requestOf(context: ExecutionContext): HttpRequest {
  return context.getArgByIndex<HttpRequest>(0);
}

export function responseOf(context: ExecutionContext): HttpResponse {
  return context.getArgByIndex<HttpResponse>(1);
}

/**
 * The lines of a header as they came. Node joins them, so that several would look like one; a value that middleware has
 * put there is only among the joined ones.
 *
 * @param name In lower case.
 */
export function headerLines(request: HttpRequest, name: string): readonly string[] | undefined {
  const raw = (request.raw ?? request).rawHeaders ?? [];
  const lines = raw.filter((_line, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name);
  if (lines.length > 1) return lines;

  const value = request.headers[name];
  return value === undefined ? undefined : [value].flat();
}

/** Whether something came with a request after its headers. */
export function hasBody(request: HttpRequest): boolean {
  const { 'content-length': length, 'content-type': type, 'transfer-encoding': encoding } = request.headers;
  if (length !== undefined) return Number(length) !== 0;

  if (encoding !== undefined) return true;

  // HTTP/2 needs neither; some of its clients end what is empty a frame later, and those have no type to declare.
  return type !== undefined && (request.raw ?? request).stream?.endAfterHeaders === false;
}

/** Whether the client left before it had sent all of it. */
export function isCutShort(request: HttpRequest): boolean {
  const { aborted, complete, stream } = request.raw ?? request;
  if (aborted !== true) return false;
  if (stream === undefined) return complete === false;

  // HTTP/2 calls complete what will not go on. Of what nobody has read, it does not tell whether all had come.
  return stream.endAfterHeaders !== true && stream.readableEnded === false;
}

/** That of Node, also behind a framework's own. */
export function rawResponse(response: HttpResponse): ServerResponse {
  return (response.raw ?? response) as ServerResponse;
}

/** Those of these headers that are set, as they are kept. */
export function headersOf(response: HttpResponse, names: readonly string[]): IdempotencyStoredResponse['headers'] {
  const found = names.map((name) => [name, response.getHeader?.(name)] as const);

  return Object.fromEntries(
    found.flatMap(([name, value]) => {
      if (value === undefined || value === null) return [];
      return [[name, Array.isArray(value) ? value.map(String) : String(value as string | number)]];
    }),
  );
}

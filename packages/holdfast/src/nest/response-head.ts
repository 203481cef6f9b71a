import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** What can be said about the headers of an answer. */
export type ResponseHead = Pick<ServerResponse, 'getHeader' | 'getHeaderNames' | 'setHeader' | 'removeHeader'>;

type WriteHead = (status: number, ...rest: unknown[]) => ServerResponse;

/**
 * Calls `edit` when the head of a response is about to be written: after everybody else has set headers, and after the
 * server has computed its own, such as an ETag of the body. Not for a head that has left.
 */
export function beforeHead(response: ServerResponse, edit: (head: ResponseHead) => void): void {
  if (response.headersSent || typeof response.writeHead !== 'function') return;

  const writeHead = response.writeHead as WriteHead;
  let edited = false;
  // Node itself, Fastify and what stands in front of either call this method once for each answer that they send.
  (response as { writeHead: WriteHead }).writeHead = function writeEditedHead(status, ...rest) {
    if (edited || response.headersSent) return writeHead.call(response, status, ...rest);

    edited = true;
    const headers = rest.find((part) => typeof part === 'object' && part !== null);
    if (headers !== undefined) takeOver(response, headers);
    edit(response);
    return writeHead.call(response, status, ...rest.filter((part) => typeof part === 'string'));
  };
}

/** Headers in the call would come last otherwise. */
function takeOver(response: ServerResponse, headers: object): void {
  if (Array.isArray(headers)) {
    takeOverList(response, pairsOf(headers as OutgoingHttpHeader[] | (readonly [string, OutgoingHttpHeader])[]));
    return;
  }

  for (const [name, value] of Object.entries(headers as OutgoingHttpHeaders)) {
    if (value !== undefined) response.setHeader(name, value);
  }
}

/** A list may name a header more than once. */
function takeOverList(response: ServerResponse, pairs: readonly (readonly [string, OutgoingHttpHeader])[]): void {
  for (const [name] of pairs) response.removeHeader(name);
  for (const [name, value] of pairs) response.appendHeader(name, Array.isArray(value) ? value : String(value));
}

/** Node takes `['name', 'value', …]`, and pairs. */
function pairsOf(
  list: OutgoingHttpHeader[] | (readonly [string, OutgoingHttpHeader])[],
): (readonly [string, OutgoingHttpHeader])[] {
  if (Array.isArray(list[0])) return list as (readonly [string, OutgoingHttpHeader])[];

  const flat = list as OutgoingHttpHeader[];
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[String(name), flat[at + 1] ?? ''] as const] : []));
}

import { request as requestOverHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as requestOverHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Between `node:http` and the web's `Request` and `Response`, with bodies that stream and stay as they are. */

/** What concerns one connection, and not what is sent over it. */
const OF_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * The request that came in.
 *
 * @param signal Aborts when its client leaves.
 * @throws TypeError when it cannot be one, for its address or its method.
 */
export function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '' } = incoming;
  if (!url.startsWith('/')) throw new TypeError('The address is no path');

  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(`http://localhost${url}`, {
    method,
    headers: headersOf(incoming),
    signal,
    ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' }),
  });
}

/** Sends an answer as it comes. Rejects when it breaks off; what was begun is broken off, too, then. */
export async function send(answer: Response, outgoing: ServerResponse): Promise<void> {
  const headers = [...answer.headers].filter(([name]) => !OF_CONNECTION.has(name));
  outgoing.writeHead(answer.status, answer.statusText, headers.flat());
  if (answer.body === null) {
    outgoing.end();
    return;
  }

  await pipeline(Readable.fromWeb(answer.body as never), outgoing);
}

/**
 * What the origin answers. `fetch` would unpack a compressed body and keep the header that says it is compressed. No
 * limit ends it, since it is what the request is for; the client does, by leaving.
 */
export function askOrigin(origin: URL, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const open = origin.protocol === 'https:' ? requestOverHttps : requestOverHttp;
  const { method, signal } = request;

  return new Promise((resolve, reject) => {
    const outgoing = open(origin, { method, path: `${pathname}${search}`, signal });
    for (const [name, value] of request.headers) {
      if (name !== 'host' && !OF_CONNECTION.has(name)) outgoing.setHeader(name, value);
    }
    outgoing.once('response', (answer) => resolve(answerOf(answer, method)));
    outgoing.on('error', reject);
    if (request.body === null) outgoing.end();
    else pipeline(Readable.fromWeb(request.body as never), outgoing).catch(reject);
  });
}

function answerOf(answer: IncomingMessage, method: string): Response {
  const { statusCode: status = 502, statusMessage: statusText = '' } = answer;
  const isEmpty = method === 'HEAD' || WITHOUT_BODY.has(status);
  if (isEmpty) answer.resume();

  return new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream), {
    status,
    statusText,
    headers: headersOf(answer),
  });
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string);
  }

  return headers;
}

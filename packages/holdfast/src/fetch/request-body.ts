import { OptionError } from '../options.js';

/**
 * Bodies that can be sent once. A stream that an earlier attempt has read would be sent as an empty body, or fail in
 * a way that looks like the dependency's fault.
 */

const sent = new WeakSet<object>();

const REMEDY = 'Build the body inside the function that is retried, so that each attempt has one of its own.';

/**
 * The body of a request, if it can be sent only once; `undefined` for every other one.
 *
 * @throws TypeError when it has been read.
 */
export function readSingleUse(url: unknown, init: RequestInit | undefined): object | undefined {
  const body: unknown = init?.body;
  if (isSingleUse(body)) {
    if (isSpent(body)) throw new OptionError('init.body', `this stream has been read already. ${REMEDY}`);
    return body;
  }
  if (body === undefined && (url as Request).bodyUsed === true) {
    throw new OptionError('url', `the body of this Request has been read already. ${REMEDY}`);
  }

  return undefined;
}

/** From now on it counts as read, also where it does not tell: a generator never does. */
export function markSent(body: object | undefined): void {
  if (body !== undefined) sent.add(body);
}

function isSingleUse(body: unknown): body is object {
  if (typeof body !== 'object' || body === null) return false;

  const { getReader, next } = body as { getReader?: unknown; next?: unknown };
  // Streams of the platform, generators, and streams of Node.
  return typeof getReader === 'function' || typeof next === 'function' || 'readableDidRead' in body;
}

function isSpent(body: object): boolean {
  if (sent.has(body) || (body as { readableDidRead?: unknown }).readableDidRead === true) return true;

  return 'getReader' in body && isDisturbed(body as ReadableStream);
}

/** A stream that was read to its end, and let go of, looks new; only what takes it as a body can tell. */
function isDisturbed(stream: ReadableStream): boolean {
  if (stream.locked) return true;
  if (typeof globalThis.Response !== 'function') return false;
  try {
    void new Response(stream);
    return false;
  } catch {
    return true;
  }
}

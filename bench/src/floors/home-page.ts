import { createServer, type Server, type ServerResponse } from 'node:http';

const KEYS = ['user', 'order', 'coupon'] as const;
const LIMIT_MS = 400;

type Key = (typeof KEYS)[number];
type Outcome = PromiseSettledResult<object>;

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The addresses of the three parts. */
export type Parts = Readonly<Record<Key, string>>;

/**
 * The home page of the example as one would write it by hand: `fetch()` with an `AbortController` and a timer for each part,
 * and `Promise.allSettled()`. The limit covers the body; what is left of a call at its limit, or of all calls when the client
 * leaves, is aborted; what is missing is marked, in the answer and in the log. Its answers are those of the example, except
 * that a page without a user is refused only when all of its parts are known.
 */
export function createHomeByHand(parts: Parts): Server {
  return createServer((request, response) => {
    if (request.url !== '/api/home') return send(response, notFound(request.url));

    answerHome(parts, response).catch((error: unknown) => {
      console.error(error);
      send(response, { status: 500, body: { error: 'internal' } });
    });
  });
}

async function answerHome(parts: Parts, response: ServerResponse): Promise<void> {
  const client = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) client.abort(new Error('The client has left'));
  });
  const startedAt = performance.now();
  const waitedMs: number[] = [];
  const outcomes = await Promise.allSettled(
    KEYS.map((key, at) =>
      load(parts[key], client.signal).finally(() => (waitedMs[at] = Math.round(performance.now() - startedAt))),
    ),
  );
  if (client.signal.aborted) return;

  const [user] = outcomes as [Outcome];
  send(response, user.status === 'rejected' ? withoutUser(user.reason) : pageOf(outcomes, waitedMs));
}

async function load(url: string, client: AbortSignal): Promise<object> {
  const controller = new AbortController();
  const leave = (): void => controller.abort(client.reason);
  const timer = setTimeout(() => controller.abort(new DOMException('Too late', 'TimeoutError')), LIMIT_MS);
  client.addEventListener('abort', leave);
  try {
    const answer = await fetch(url, { signal: controller.signal });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new Error(`${url} answered ${answer.status}`);
    }
    const data: unknown = await answer.json();
    if (typeof data !== 'object' || data === null || Array.isArray(data)) throw new TypeError(`${url}: no object`);

    return data;
  } finally {
    clearTimeout(timer);
    client.removeEventListener('abort', leave);
  }
}

function pageOf(outcomes: readonly Outcome[], waitedMs: readonly number[]): Answer {
  const data: Partial<Record<Key, object | null>> = {};
  const degraded: { readonly key: Key; readonly reason: string }[] = [];
  const marks: string[] = [];
  outcomes.forEach((outcome, at) => {
    const key = KEYS[at] as Key;
    data[key] = outcome.status === 'fulfilled' ? outcome.value : null;
    if (outcome.status === 'fulfilled') return;

    const reason = reasonOf(outcome.reason);
    degraded.push({ key, reason });
    marks.push(`${key}=upstream_${reason};${waitedMs[at]}`);
    console.error(`${key}: upstream_${reason} after ${waitedMs[at]} ms (${String(outcome.reason)})`);
  });
  const headers = marks.length === 0 ? {} : { 'x-degraded': marks.join(', '), 'cache-control': 'no-store' };

  return { status: 200, body: { data, degraded, partial: degraded.length > 0 }, headers };
}

function withoutUser(error: unknown): Answer {
  const body = { error: 'unavailable', key: 'user', reason: reasonOf(error) };

  return { status: 502, body, headers: { 'cache-control': 'no-store' } };
}

function notFound(path: string | undefined): Answer {
  return { status: 404, body: { error: 'not_found', path } };
}

function reasonOf(error: unknown): 'timeout' | 'error' {
  return error instanceof DOMException && error.name === 'TimeoutError' ? 'timeout' : 'error';
}

function send(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
    ...headers,
  });
  response.end(bytes);
}

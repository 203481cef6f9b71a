import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { clientGone, degradedHeaders, SectionFailedError } from 'holdfast';
import { homeFrom, markReason } from './home.js';
import { naiveHome } from './naive-home.js';
import type { Upstreams } from './upstreams.js';

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes the answer to a request; `undefined` when nobody waits for it any more. */
type Route = (request: IncomingMessage, response: ServerResponse) => Promise<Answer | undefined>;

const METHODS = ['GET', 'HEAD'];

export function createHomeServer(upstreams: Upstreams): Server {
  const routes = new Map<string, Route>([
    ['/api/home', homeRoute(upstreams)],
    ['/api/home-naive', naiveRoute(upstreams)],
  ]);

  return createServer((request, response) => {
    const route = METHODS.includes(request.method ?? '') ? routes.get(pathOf(request)) : undefined;
    void answer(route ?? notFound, request, response);
  });
}

async function answer(route: Route, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const made = await route(request, response);
    if (made !== undefined) send(response, made);
  } catch (error) {
    console.error(error);
    send(response, { status: 500, body: { error: 'internal' } });
  }
}

function homeRoute(upstreams: Upstreams): Route {
  const home = homeFrom(upstreams);

  return async (request, response) => {
    const signal = clientGone(request, response);
    try {
      const page = await home(signal);
      return { status: 200, body: page, headers: degradedHeaders(page.degraded) };
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof SectionFailedError) return unavailable(error);
      throw error;
    }
  };
}

function unavailable({ section: key, reason, status }: SectionFailedError): Answer {
  const body = { error: 'unavailable', key, reason: markReason(reason) };

  return { status, body, headers: { 'cache-control': 'no-store' } };
}

function naiveRoute(upstreams: Upstreams): Route {
  return async () => {
    try {
      return { status: 200, body: { data: await naiveHome(upstreams), degraded: [], partial: false } };
    } catch {
      return { status: 500, body: { error: 'internal' } };
    }
  };
}

async function notFound({ url }: IncomingMessage): Promise<Answer> {
  return { status: 404, body: { error: 'not_found', path: url } };
}

/** Not `new URL()`: that throws on some of what may stand in a request, and takes `//a/b` for a host. */
function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?');

  return end === -1 ? url : url.slice(0, end);
}

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
    ...headers,
  });
  response.end(bytes);
}

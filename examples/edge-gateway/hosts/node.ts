import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { clientGone } from 'holdfast';
import type { Settings } from '../lib/settings.js';
import { askOrigin, requestOf, send } from './node-messages.js';
import { onItsPaths } from './respond.js';

type Respond = (request: Request) => Promise<Response>;

/** The gateway on Node, in front of an origin. */
export function createNodeServer(settings: Settings, origin: URL): Server {
  const respond = onItsPaths(settings, (request) => passOn(origin, request));

  return createServer((incoming, outgoing) => void answer(incoming, outgoing, respond));
}

async function answer(incoming: IncomingMessage, outgoing: ServerResponse, respond: Respond): Promise<void> {
  const request = readRequest(incoming, outgoing);
  if (request === undefined) return void outgoing.writeHead(400).end();

  try {
    await send(await respond(request), outgoing);
  } catch (error) {
    if (!request.signal.aborted) console.error(error);
    // Whoever has a part of the answer must not take it for the whole.
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(500, { 'cache-control': 'no-store' }).end();
  }
}

function readRequest(incoming: IncomingMessage, outgoing: ServerResponse): Request | undefined {
  try {
    return requestOf(incoming, clientGone(incoming, outgoing));
  } catch {
    return undefined;
  }
}

async function passOn(origin: URL, request: Request): Promise<Response> {
  try {
    return await askOrigin(origin, request);
  } catch {
    return new Response('Bad gateway', { status: 502, headers: { 'cache-control': 'no-store' } });
  }
}

import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

/** Asks its servers in turn, whether they answer or not, as a load balancer without health checks does. For GETs. */
export function createRoundRobinProxy(servers: readonly URL[]): Server {
  let requests = 0;

  return createServer((request, response) => {
    const server = servers[requests++ % servers.length] as URL;
    forward(new URL(request.url ?? '/', server), response);
  });
}

function forward(url: URL, response: ServerResponse): void {
  const onward = get(url, (answer) => passOn(answer, response));
  onward.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  response.once('close', () => {
    if (!response.writableFinished) onward.destroy();
  });
}

function passOn(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502);
  answer.pipe(response);
}

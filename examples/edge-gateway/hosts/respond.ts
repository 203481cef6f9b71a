import { createGateway, type Gateway } from '../lib/gateway.js';
import type { Settings } from '../lib/settings.js';
import { config } from '../netlify/edge-functions/gateway.js';
import { routeOf } from './paths.js';

/** Passes a request on to the origin. */
export type PassOn = (request: Request) => Promise<Response>;

/** The gateway on its paths, for runtimes that do not route requests themselves. */
export function onItsPaths(settings: Settings, passOn: PassOn): (request: Request) => Promise<Response> {
  const gateway: Gateway = createGateway(settings);

  return (request) => {
    const route = routeOf(new URL(request.url).pathname, config);
    if (route === 'nowhere') return Promise.resolve(new Response('Not found', { status: 404 }));
    if (route === 'past') return passOn(request);

    return gateway(request, { next: () => passOn(request) });
  };
}

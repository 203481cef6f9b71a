import { createGateway, type Context, type Gateway } from '../../lib/gateway.js';
import { readSettings } from '../../lib/settings.js';

interface Platform {
  readonly Netlify?: { readonly env: { get(name: string): string | undefined } };
}

let gateway: Gateway | undefined;

/** Netlify loads this file while it builds, to read `config`; variables are there from the first request on. */
export default async function handle(request: Request, context: Context): Promise<Response> {
  gateway ??= createGateway(readSettings((name) => (globalThis as Platform).Netlify?.env.get(name)));

  return gateway(request, context);
}

// #region config
export const config = {
  path: '/app/*',
  excludedPath: ['/app/assets/*', '/app/health'],
  cache: 'manual',
};
// #endregion

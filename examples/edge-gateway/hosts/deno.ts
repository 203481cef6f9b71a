// The gateway on Deno, without a platform around it: `deno run --allow-net --allow-env`, with variables as in the README.
import { readAddress, readSettings } from '../lib/settings.js';
import { fetchOrigin } from './fetch-origin.js';
import { onItsPaths } from './respond.js';

interface ServeOptions {
  readonly hostname: string;
  readonly port: number;
  readonly onListen: (address: { readonly port: number }) => void;
}

declare const Deno: {
  readonly env: { get(name: string): string | undefined };
  serve(options: ServeOptions, handler: (request: Request) => Promise<Response>): unknown;
};

const variable = (name: string): string | undefined => Deno.env.get(name);
const origin = readAddress('ORIGIN_URL', variable('ORIGIN_URL') ?? 'http://127.0.0.1:8080');

Deno.serve(
  {
    hostname: '127.0.0.1',
    port: Number(variable('PORT') ?? 0),
    onListen: ({ port }) => console.log(`Listening on http://127.0.0.1:${port}`),
  },
  onItsPaths(readSettings(variable), (request) => fetchOrigin(origin, request)),
);

import { UPSTREAMS, type Upstream } from './upstreams.js';

export interface Settings {
  readonly port: number;
  /** Services to ask in place of stubs. */
  readonly origins: Partial<Readonly<Record<Upstream, string>>>;
}

/** A variable of the environment that cannot be used. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

const DEFAULT_PORT = '39300';
/** The stubs take the three ports after that of the page. */
const HIGHEST_PORT = 65_535 - UPSTREAMS.length;

/** @throws SettingError naming the variable. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const origins = UPSTREAMS.flatMap((upstream) => {
    const variable = `${upstream.toUpperCase()}_URL`;
    const given = environment[variable];
    return given === undefined || given === '' ? [] : [[upstream, originFrom(variable, given)] as const];
  });

  return { port: portFrom(environment.PORT ?? DEFAULT_PORT), origins: Object.fromEntries(origins) };
}

function portFrom(given: string): number {
  const port = Number(given);
  if (/^\d+$/.test(given) && port <= HIGHEST_PORT) return port;

  throw new SettingError(`PORT: a whole number from 0 to ${HIGHEST_PORT}, not "${given}".`);
}

function originFrom(variable: string, given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isPlain = url !== undefined && url.search === '' && url.hash === '';
  if (isPlain && ['http:', 'https:'].includes(url.protocol)) return url.href.replace(/\/+$/, '');

  throw new SettingError(`${variable}: an http or https URL without a query, not "${given}".`);
}

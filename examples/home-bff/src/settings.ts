import { KEYS, type Key } from './upstreams.js';

const HIGHEST_PORT = 65_535;

/** Where the services are; those without an address are stood in for. */
export type Origins = Readonly<Partial<Record<Key, string>>>;

export interface Settings {
  /** 0 takes any free one. */
  readonly port: number;
  readonly origins: Origins;
}

/** A setting that cannot be used; the message says which, and what to set. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

/** @throws SettingError */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const { PORT = '39200' } = environment;
  if (!/^\d+$/.test(PORT) || Number(PORT) > HIGHEST_PORT) {
    throw new SettingError(`PORT: a whole number from 0 to ${HIGHEST_PORT}, not "${PORT}".`);
  }
  const origins = KEYS.flatMap((key): [Key, string][] => {
    const variable = `${key.toUpperCase()}_URL`;
    const given = environment[variable];
    return given === undefined ? [] : [[key, requireOrigin(variable, given)]];
  });

  return { port: Number(PORT), origins: Object.fromEntries(origins) };
}

function requireOrigin(variable: string, given: string): string {
  const url = /^https?:/i.test(given) && URL.canParse(given) ? new URL(given) : undefined;
  // fetch() refuses credentials in an address, and what follows the path would end up in the middle of it.
  if (url && `${url.username}${url.password}${url.search}${url.hash}` === '') return url.href;

  throw new SettingError(`${variable}: an address such as http://127.0.0.1:39201, not "${given}".`);
}

/** Says what to do about a port that cannot be opened; any other error comes back as it is. */
export function explainPort(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new SettingError(`Port ${port} is taken. Set PORT to another one, or to 0 for any free port.`);
  }

  return code === 'EACCES' ? new SettingError(`Port ${port} may not be opened by this user. Set PORT to 0.`) : error;
}

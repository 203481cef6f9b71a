const HIGHEST_PORT = 65_535;

export interface Settings {
  /** Of the proxy; 0 takes any free one. */
  readonly port: number;
  /** Called in place of our own servers. */
  readonly upstream: URL | undefined;
}

/** A setting that cannot be used; the message says which, and why. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

/** @throws SettingError */
export function readSettings({ PORT = '0', UPSTREAM_URL }: NodeJS.ProcessEnv): Settings {
  if (!/^\d+$/.test(PORT) || Number(PORT) > HIGHEST_PORT) {
    throw new SettingError(`PORT: a whole number from 0 to ${HIGHEST_PORT}, not "${PORT}".`);
  }

  return { port: Number(PORT), upstream: UPSTREAM_URL === undefined ? undefined : readUpstream(UPSTREAM_URL) };
}

function readUpstream(given: string): URL {
  if (/^https?:/i.test(given) && URL.canParse(given)) return new URL(given);

  throw new SettingError(`UPSTREAM_URL: an address such as http://127.0.0.1:8888, not "${given}".`);
}

/** Says what to do about a port that cannot be opened; any other error comes back as it is. */
export function explainPort(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new SettingError(`Port ${port} is taken. Set PORT to another one, or to 0 for any free port.`);
  }

  return code === 'EACCES' ? new SettingError(`Port ${port} may not be opened by this user. Set PORT to 0.`) : error;
}

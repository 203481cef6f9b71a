const HIGHEST_PORT = 65_535;

/** A port from the environment; 0 asks the system for a free one. */
export function portFrom(variable: string, fallback: number): number {
  const given = process.env[variable] ?? String(fallback);
  const port = Number(given);

  if (!/^\d+$/.test(given) || port > HIGHEST_PORT) {
    return exitWith(`${variable}: a whole number from 0 to ${HIGHEST_PORT}, not "${given}".`);
  }
  return port;
}

/** Says what to do about a port that cannot be opened; any other error goes on. */
export function refusePort(error: unknown, { variable, port }: { variable: string; port: number }): never {
  const code = (error as NodeJS.ErrnoException).code;

  if (code === 'EADDRINUSE') {
    return exitWith(`Port ${port} is taken. Set ${variable} to another one, or to 0 for any free port.`);
  }
  if (code === 'EACCES') {
    return exitWith(`Port ${port} may not be opened by this user. Set ${variable} to one above 1023.`);
  }
  throw error;
}

/** Ends a start that cannot succeed, with what to do about it. */
export function exitWith(message: string): never {
  console.error(message);
  process.exit(1);
}

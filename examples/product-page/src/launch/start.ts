import { readSettings, SettingError } from '../settings.js';
import { startPageService } from './page-service.js';
import { whatToTry } from './what-to-try.js';

try {
  const settings = readSettings(process.env);
  const service = await startPageService(settings).catch((error: unknown) => refusePort(error));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void service.close());
  console.log(whatToTry(service));
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

/** Says what to do about a port that cannot be opened; any other error goes on. */
function refusePort(error: unknown): never {
  const { code, port } = error as NodeJS.ErrnoException & { readonly port?: number };
  if (code === 'EADDRINUSE') throw new SettingError(`Port ${port} is taken. Set PORT to another one, or to 0.`);

  throw error;
}

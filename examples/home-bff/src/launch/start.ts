import { readSettings, SettingError } from '../settings.js';
import { startHomeService } from './home-service.js';
import { logMissingParts } from './log.js';
import { whatToTry } from './what-to-try.js';

try {
  const service = await startHomeService(readSettings(process.env));
  console.log(whatToTry(service));
  logMissingParts((line) => console.error(line));
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

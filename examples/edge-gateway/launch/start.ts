import { SettingError } from '../lib/settings.js';
import { run } from './run.js';

try {
  const { stop } = await run(process.env, (text) => console.log(text));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());
} catch (error) {
  if (!(error instanceof SettingError)) throw error;

  console.error(error.message);
  process.exitCode = 1;
}

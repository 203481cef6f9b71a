import { Logger } from '@nestjs/common';

export const logger = new Logger('IdempotencyModule');

/** At run time: an application's own logger may throw, and no key stays locked, and no process falls, for that. */
export function log(level: 'error' | 'warn', ...lines: readonly [message: string, detail?: string]): void {
  try {
    logger[level](...lines);
  } catch {
    // Where it could be told is just what does not work.
  }
}

/**
 * The one clock of the engine.
 *
 * Elapsed time comes from the monotonic clock, anchored to the epoch when this module is loaded: a step of the wall
 * clock (NTP, a suspended laptop, an administrator) moves no budget, window, token or open time. Only when somebody
 * has replaced `Date` since then, as fake timers do, does `Date` rule, and then everywhere.
 */

const ImportedDate = globalThis.Date;
const importedNow = ImportedDate.now;
const monotonic = globalThis.performance;
const epoch = monotonic === undefined ? 0 : importedNow() - monotonic.now();

/** Milliseconds since the epoch, with a fraction where the runtime gives one. Never runs backwards. */
export function now(): number {
  const date = globalThis.Date;
  if (monotonic === undefined || date !== ImportedDate || date.now !== importedNow) return date.now();

  return epoch + monotonic.now();
}

/** Whether time is moved by hand, by fake timers. */
export function isFaked(): boolean {
  return globalThis.Date !== ImportedDate || globalThis.Date.now !== importedNow;
}

import type { ExecuteOptions } from './execution.js';
import { kindOf, remedyFor, show } from './options.js';

/**
 * What is wrong with the arguments of one call, if anything is. It is asked for every call, so it only looks, and
 * allocates nothing unless it has a complaint.
 */
export function misuseOf(work: unknown, options: ExecuteOptions | undefined, role = 'work'): TypeError | undefined {
  if (typeof work !== 'function') return new TypeError(`${role}: expected a function, got ${show(work)}.`);

  return options === undefined ? undefined : misuseOfOptions(options);
}

function misuseOfOptions(options: ExecuteOptions): TypeError | undefined {
  if (typeof options !== 'object' || options === null) {
    return new TypeError(`options: expected an options object, got ${kindOf(options)}. Use { signal, source }.`);
  }

  for (const key in options) {
    if (key === 'signal' || key === 'source' || key === 'detached' || key === 'ambient' || key === 'budget') continue;

    if (isSignal(options)) return new TypeError('options: got an AbortSignal. Pass it as { signal }.');
    if (Object.hasOwn(options, key)) return unknownOption(key);
  }

  const signal: unknown = options.signal;
  if (signal === undefined || isSignal(signal)) return undefined;

  return new TypeError(`signal: expected an AbortSignal, got ${show(signal)}.`);
}

function isSignal(value: unknown): boolean {
  return typeof (value as Partial<AbortSignal> | null)?.addEventListener === 'function';
}

function unknownOption(key: string): TypeError {
  return new TypeError(
    `${key}: unknown option. ${remedyFor(key, ['signal', 'source', 'detached', 'ambient', 'budget'])}`,
  );
}

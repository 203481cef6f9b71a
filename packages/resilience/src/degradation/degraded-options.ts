import { validateHeaderName, validateHeaderValue } from 'node:http';
import {
  OptionError,
  refuseTakenHeader,
  rejectUnknown,
  requireBoolean,
  requireName,
  requireObject,
} from 'holdfast/binding';

/** What a partial response that a handler returns says in its headers. */
export interface DegradedOptions {
  /** The header that lists what is missing. Default `'X-Degraded'`. */
  readonly header?: string | undefined;
  /** `Cache-Control` of answers in which something is missing, whatever the route says. Default `'no-store'`. */
  readonly cacheControl?: string | undefined;
  /** Whether `Server-Timing` tells how long each section took: to everybody who asks. Default `false`. */
  readonly serverTiming?: boolean | undefined;
}

export type DegradedSettings = { readonly [K in keyof DegradedOptions]-?: NonNullable<DegradedOptions[K]> };

const KNOWN = ['header', 'cacheControl', 'serverTiming'] as const;

/** @throws TypeError naming the option. */
export function readDegraded(options: DegradedOptions = {}): DegradedSettings {
  requireObject(options, '', "Use { header: 'X-Degraded' }, for example.");
  rejectUnknown(options, KNOWN);
  const { header = 'X-Degraded', cacheControl = 'no-store', serverTiming = false } = options;
  requireHeaderName(header);
  requireName(cacheControl, 'cacheControl');
  requireLegal('cacheControl', () => validateHeaderValue('Cache-Control', cacheControl));

  return { header, cacheControl, serverTiming: requireBoolean(serverTiming, 'serverTiming') };
}

function requireHeaderName(header: unknown): void {
  const name = requireName(header, 'header');
  requireLegal('header', () => validateHeaderName(name));
  refuseTakenHeader(name, 'header');
}

function requireLegal(path: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new OptionError(path, `${(error as Error).message}. Leave out what HTTP does not allow there.`);
  }
}

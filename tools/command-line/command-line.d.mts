import type { ParseArgsConfig, parseArgs } from 'node:util';

/** The whole numbers that an option takes. */
export interface Range {
  readonly least: number;
  /** Default: `Number.MAX_SAFE_INTEGER`. */
  readonly most?: number;
}

/**
 * What `read` makes of the command line of this program. Where that is wrong, a sentence says what is, without the
 * trace of a program that has a fault, and the program ends with 1.
 */
export function readOrExit<T>(read: (args: readonly string[]) => T): T;

/**
 * As `parseArgs()` of Node does it.
 *
 * @throws TypeError that names the options there are, when one is unknown, or has a value too many or too few.
 */
export function readOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>>;

/**
 * The number that an option was given, in decimal digits.
 *
 * @throws TypeError with the option's name, unless it is a whole number within the range.
 */
export function readWholeNumber(option: string, given: string, range: Range): number;

/**
 * The value of an option that takes some only; `undefined` when it was not given.
 *
 * @throws TypeError with the option's name and what it takes.
 */
export function readOneOf<T extends string>(
  option: string,
  given: string | undefined,
  known: readonly T[],
): T | undefined;

/** The whole numbers that an option takes. */
export interface Range {
  readonly least: number;
  readonly most: number;
}

/**
 * The number that an option of the command line was given, in decimal digits.
 *
 * @throws TypeError with the option's name, unless it is a whole number within the range.
 */
export function readWholeNumber(option: string, given: string, { least, most }: Range): number {
  const number = Number(given);
  if (/^\d+$/.test(given) && number >= least && number <= most) return number;

  throw new TypeError(`--${option}: expected a whole number from ${least} to ${most}, got ${JSON.stringify(given)}.`);
}

// How the programs that are run by hand read their command lines. Types and contracts stand in `command-line.d.mts`: the
// programs are TypeScript, and run without this being built.
import { parseArgs } from 'node:util';

/** @type {typeof import('./command-line.mjs').readOrExit} */
export function readOrExit(read) {
  try {
    return read(process.argv.slice(2));
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    process.exit(1);
  }
}

/** @type {typeof import('./command-line.mjs').readOptions} */
export function readOptions(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    // What Node says after that is how to pass on what looks like an option.
    const [wrong = ''] = /** @type {Error} */ (error).message.split(/\.\s/);
    const plain = wrong.replace('argument is ambiguous', 'has no value: what follows begins with a dash');
    const known = Object.keys(config.options ?? {}).map((name) => `--${name}`);
    const options = known.length === 0 ? 'There are none' : `Known options: ${known.join(', ')}`;
    throw new TypeError(`${plain}. ${options}.`, { cause: error });
  }
}

/** @type {typeof import('./command-line.mjs').readWholeNumber} */
export function readWholeNumber(option, given, { least, most = Number.MAX_SAFE_INTEGER }) {
  const number = Number(given);
  if (/^\d+$/.test(given) && number >= least && number <= most) return number;

  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new TypeError(`--${option}: expected a whole number ${range}, got ${JSON.stringify(given)}.`);
}

/** @type {typeof import('./command-line.mjs').readOneOf} */
export function readOneOf(option, given, known) {
  const found = known.find((one) => one === given);
  if (given === undefined || found !== undefined) return found;

  throw new TypeError(`--${option}: expected one of ${known.join(', ')}, got ${JSON.stringify(given)}.`);
}

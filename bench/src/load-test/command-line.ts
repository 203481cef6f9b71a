import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { readOneOf, readOptions, readWholeNumber, type Range } from '../../../tools/command-line/command-line.mjs';
import { readSeed } from '../simulate/command-line.js';
import { FAULTS, type Fault } from './faults.js';

export interface Command {
  readonly seed: number;
  readonly seconds: number;
  /** What is wrong with the policies, so that the run has something to find. */
  readonly fault: Fault | undefined;
  /** The whole path of where the plot goes; `undefined` for nowhere. */
  readonly plot: string | undefined;
  /** Whether plot and table go into the documentation. */
  readonly write: boolean;
}

/** All that happens is kept until it is judged. */
const SECONDS: Range = { least: 6, most: 600 };

/** The whole path of what was named where the command was called: npm starts programs in the folder of their package. */
function fileToWrite(option: string, given: string): string {
  const file = resolve(process.env.INIT_CWD ?? '.', given);
  if (existsSync(dirname(file))) return file;

  throw new TypeError(`--${option}: expected a file in a folder that is there, got ${JSON.stringify(given)}.`);
}

/**
 * `--seed`, `--seconds`, `--fault`, `--plot` with the file that is drawn, and `--write`.
 *
 * @throws TypeError naming the option.
 */
export function readCommandLine(args: readonly string[]): Command {
  const { values } = readOptions({
    args: [...args],
    options: {
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '40' },
      fault: { type: 'string' },
      plot: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  });
  const { write } = values;

  return {
    seed: readSeed(['--seed', values.seed]),
    seconds: readWholeNumber('seconds', values.seconds, SECONDS),
    fault: readOneOf('fault', values.fault, FAULTS),
    plot: values.plot === undefined ? undefined : fileToWrite('plot', values.plot),
    write,
  };
}

import { readOneOf, readOptions, readWholeNumber, type Range } from '../../../tools/command-line/command-line.mjs';
import { readSeed } from '../simulate/command-line.js';
import { FAULTS, type Fault } from './faults.js';

export interface Command {
  readonly seed: number;
  readonly seconds: number;
  /** What is wrong with the policies, so that the run has something to find. */
  readonly fault: Fault | undefined;
  /** Where the plot goes; `undefined` for nowhere. */
  readonly plot: string | undefined;
  /** Whether plot and table go into the documentation. */
  readonly write: boolean;
}

/** All that happens is kept until it is judged. */
const SECONDS: Range = { least: 6, most: 600 };

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
  const { plot, write } = values;

  return {
    seed: readSeed(['--seed', values.seed]),
    seconds: readWholeNumber('seconds', values.seconds, SECONDS),
    fault: readOneOf('fault', values.fault, FAULTS),
    plot,
    write,
  };
}

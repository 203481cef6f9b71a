import { readOptions, readWholeNumber } from '../../../tools/command-line/command-line.mjs';

export interface Command {
  /** How many pages there must be for a verdict. */
  readonly requests: number;
  /** How long they may take together. */
  readonly seconds: number;
}

const MOST_REQUESTS = 10_000_000;
const MOST_SECONDS = 86_400;
/** Two hundred clients who wait 400 ms for each page get 500 a second at most, and 100,000 in 200 seconds at the earliest. */
const ENOUGH_SECONDS = '600';

/**
 * `--requests` and `--seconds`: 100,000 and ten minutes, when nothing is asked for.
 *
 * @throws TypeError naming the option. Of no request at all the heap would be flat.
 */
export function readCommandLine(args: readonly string[]): Command {
  const { values } = readOptions({
    args: [...args],
    options: { requests: { type: 'string', default: '100000' }, seconds: { type: 'string', default: ENOUGH_SECONDS } },
  });

  return {
    requests: readWholeNumber('requests', values.requests, { least: 1, most: MOST_REQUESTS }),
    seconds: readWholeNumber('seconds', values.seconds, { least: 1, most: MOST_SECONDS }),
  };
}

import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { CASES, type CaseName } from './cases.js';
import { FAULTS, type Fault, type StoreName } from './server/server-settings.js';

export interface Command {
  /** `undefined` for each of them. */
  readonly store: StoreName | undefined;
  readonly case: CaseName | undefined;
  /** What is wrong with the store, so that the proof has something to find. */
  readonly fault: Fault | undefined;
  /** Of the first round; the others have those that follow. */
  readonly seed: number;
  /** How many times as much as in the short form. */
  readonly times: number;
  /** For how long the cases go round. Each runs once at least. */
  readonly seconds: number;
}

export const STORES: readonly StoreName[] = ['postgres', 'redis'];

/**
 * `--store`, `--case`, `--fault`, `--seed`, `--times` and `--seconds`: each case of each store once, from any seed, when
 * nothing is asked for.
 *
 * @throws TypeError naming the option.
 */
export function readCommandLine(args: readonly string[]): Command {
  const values = readOptions(args);
  const store = oneOf(STORES, 'store', values.store);
  const fault = oneOf(FAULTS, 'fault', values.fault);
  if (fault !== undefined && store !== 'postgres') throw new TypeError('--fault needs --store postgres.');

  return {
    store,
    case: oneOf(CASES, 'case', values.case),
    fault,
    seed: countIn('seed', values.seed, 0),
    times: countIn('times', values.times, 1),
    seconds: countIn('seconds', values.seconds, 0),
  };
}

function readOptions(args: readonly string[]) {
  const options = {
    store: { type: 'string' },
    case: { type: 'string' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    fault: { type: 'string' },
    times: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '0' },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const known = Object.keys(options).map((name) => `--${name}`);
    throw new TypeError(`${(error as Error).message}. Known options: ${known.join(', ')}.`, { cause: error });
  }
}

function oneOf<T extends string>(known: readonly T[], option: string, given: string | undefined): T | undefined {
  const found = known.find((one) => one === given);
  if (given === undefined || found !== undefined) return found;

  throw new TypeError(`--${option}: expected one of ${known.join(', ')}, got ${JSON.stringify(given)}.`);
}

function countIn(option: string, given: string, least: number): number {
  const count = Number(given);
  if (/^\d+$/.test(given) && count >= least) return count;

  throw new TypeError(`--${option}: expected a whole number of at least ${least}, got ${JSON.stringify(given)}.`);
}

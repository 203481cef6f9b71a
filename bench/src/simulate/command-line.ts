import { parseArgs } from 'node:util';
import { readWholeNumber } from '../whole-number.js';

const HIGHEST_SEED = 2 ** 32 - 1;

/** `--seed <n>` draws other latencies; the same seed draws the same. Default 1. */
export function readSeed(args: readonly string[]): number {
  const { values } = parseArgs({ args: [...args], options: { seed: { type: 'string', default: '1' } } });

  return readWholeNumber('seed', values.seed, { least: 0, most: HIGHEST_SEED });
}

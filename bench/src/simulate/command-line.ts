import { readOptions, readWholeNumber } from '../../../tools/command-line/command-line.mjs';

const HIGHEST_SEED = 2 ** 32 - 1;

/** `--seed <n>` draws other latencies; the same seed draws the same. Default 1. */
export function readSeed(args: readonly string[]): number {
  const { values } = readOptions({ args: [...args], options: { seed: { type: 'string', default: '1' } } });

  return readWholeNumber('seed', values.seed, { least: 0, most: HIGHEST_SEED });
}

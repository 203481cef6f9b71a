import { parseArgs } from 'node:util';

const HIGHEST_SEED = 2 ** 32 - 1;

/** `--seed <n>` draws other latencies; the same seed draws the same. Default 1. */
export function readSeed(args: readonly string[]): number {
  const { values } = parseArgs({ args: [...args], options: { seed: { type: 'string', default: '1' } } });
  const seed = Number(values.seed);
  if (/^\d+$/.test(values.seed) && seed <= HIGHEST_SEED) return seed;

  throw new TypeError(`--seed: expected a whole number from 0 to ${HIGHEST_SEED}, got ${JSON.stringify(values.seed)}.`);
}

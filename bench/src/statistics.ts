/** The middle value; of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  if (sorted.length % 2 === 1) return upper;

  return ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** The smallest value that is not exceeded by that many percent of all. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);

  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? NaN;
}

/** Both sides of one round: what the machine did to one of them meanwhile it did to the other. */
export interface Pair {
  readonly ours: number;
  readonly other: number;
}

/**
 * The faster half: the rounds in which others left the machine alone. It matters most for differences, which unlike
 * ratios grow when the machine slows down.
 */
export function calmHalf(pairs: readonly Pair[]): readonly Pair[] {
  const byTime = [...pairs].sort((a, b) => a.ours + a.other - b.ours - b.other);

  return byTime.slice(0, Math.ceil(byTime.length / 2));
}

import { CaseProcess } from './case-process.js';
import type { Row } from './row.js';
import { SIDE_NAMES, type SideName } from './sides.js';
import { calmHalf, median, type Pair } from './statistics.js';

/** How long a row is measured. */
export interface Effort {
  /** In fresh processes; the table shows their median. */
  readonly runs: number;
  /** In each round every side is measured twice, there and back. */
  readonly rounds: number;
  readonly sliceMs: number;
  /** Of each side, before the first slice that counts. */
  readonly warmUpMs: number;
}

export interface RunResult {
  readonly node: string;
  /**
   * Per call: nanoseconds, bytes in a memory row, milliseconds in one of lateness, or how often in one of counts. Bytes of
   * each object where it is held that counts, and calls per second in a row of throughput.
   */
  readonly ours: number;
  readonly other: number;
  readonly bare: number;
  /** What is compared with the row's target. */
  readonly value: number;
}

const CALLS_OF_A_MEMORY_SLICE = 2_000;

/**
 * One run of a row: fresh processes, a warm-up of all sides, then slices of the sides in turn.
 *
 * @param execPath The Node to measure on.
 */
export async function runRow(row: Row, effort: Effort, execPath: string): Promise<RunResult> {
  const processes = await startProcesses(row, execPath);
  try {
    const calls = await warmUp(row, processes, effort);
    const samples = await takeSlices(row, processes, { calls, rounds: effort.rounds });

    return {
      node: processes.ours.node,
      ours: median(samples.ours),
      other: median(samples.other),
      bare: median(samples.bare),
      value: compare(row, samples),
    };
  } finally {
    for (const process of new Set(Object.values(processes))) process.stop();
  }
}

type PerSide<T> = Record<SideName, T>;

/** All sides share one process, unless the state of promise hooks is what tells the sides apart. */
async function startProcesses(row: Row, execPath: string): Promise<PerSide<CaseProcess>> {
  if (row.hooks !== 'on-in-ours') {
    const shared = await CaseProcess.start(row, { hooks: row.hooks, execPath });

    return { ours: shared, other: shared, bare: shared };
  }

  const ours = await CaseProcess.start(row, { hooks: 'on', execPath });
  const other = await CaseProcess.start(row, { hooks: 'off', execPath });

  return { ours, other, bare: ours };
}

/** Lets the compiler settle with all sides mixed, and finds how many calls make a slice of the wanted length. */
async function warmUp(row: Row, processes: PerSide<CaseProcess>, effort: Effort): Promise<PerSide<number>> {
  // What measures itself warms itself up as well.
  if (unitOf(row) === 'value') return { ours: 1, other: 1, bare: 1 };

  const calls: PerSide<number> = { ours: 100, other: 100, bare: 100 };
  const spentMs: PerSide<number> = { ours: 0, other: 0, bare: 0 };
  while (Math.min(...Object.values(spentMs)) < effort.warmUpMs) {
    for (const side of SIDE_NAMES) {
      const ns = await processes[side].measure({ side, calls: calls[side], unit: 'ns' });
      spentMs[side] += (ns * calls[side]) / 1e6;
      calls[side] = Math.max(1, Math.min(calls[side] * 2, Math.round((effort.sliceMs * 1e6) / ns)));
    }
  }
  if (row.measure !== 'memory') return calls;

  return { ours: CALLS_OF_A_MEMORY_SLICE, other: CALLS_OF_A_MEMORY_SLICE, bare: CALLS_OF_A_MEMORY_SLICE };
}

async function takeSlices(
  row: Row,
  processes: PerSide<CaseProcess>,
  { calls, rounds }: { calls: PerSide<number>; rounds: number },
): Promise<PerSide<number[]>> {
  const samples: PerSide<number[]> = { ours: [], other: [], bare: [] };
  const unit = unitOf(row);
  for (let round = 0; round < rounds; round++) {
    // There and back: a machine that gets slower meanwhile does so to all sides alike.
    const there: PerSide<number> = { ours: 0, other: 0, bare: 0 };
    for (const side of SIDE_NAMES) there[side] = await processes[side].measure({ side, calls: calls[side], unit });
    for (const side of SIDE_NAMES.toReversed()) {
      const back = await processes[side].measure({ side, calls: calls[side], unit });
      samples[side].push((there[side] + back) / 2);
    }
  }

  return samples;
}

function unitOf({ measure }: Row): 'ns' | 'bytes' | 'value' {
  switch (measure) {
    case 'ratio':
    case 'difference':
      return 'ns';
    case 'memory':
      return 'bytes';
    case 'lateness':
    case 'count':
    case 'held':
    case 'throughput':
      return 'value';
  }
}

function compare(row: Row, { ours, other }: PerSide<number[]>): number {
  const all = ours.map((value, round): Pair => ({ ours: value, other: other[round] ?? NaN }));
  const pairs = calmHalf(all);
  switch (row.measure) {
    case 'ratio':
      return median(pairs.map((pair) => pair.ours / pair.other));
    case 'difference':
      return median(pairs.map((pair) => (pair.ours - pair.other) / 1_000));
    case 'lateness':
      return median(ours) - median(other);
    case 'count':
    case 'held':
      return median(ours);
    case 'throughput':
      return median(all.map((pair) => pair.ours / pair.other));
    case 'memory':
      return median(ours) / 1_000;
  }
}

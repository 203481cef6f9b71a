import { readOptions } from '../../tools/command-line/command-line.mjs';
import type { Row } from './row.js';
import { ROWS } from './rows.js';
import type { Effort } from './run-row.js';

export interface Command {
  readonly rows: readonly Row[];
  readonly effortOf: (row: Row) => Effort;
  /** Whether it is a look and no measurement. */
  readonly quick: boolean;
  /** Whether the results are written down, from all the Nodes that are reported. */
  readonly report: boolean;
  /** Whether nothing is measured, and the report is written anew from what was. */
  readonly rewrite: boolean;
}

/** Long slices for ratios, so that each has its share of garbage collections. */
const RATIO: Effort = { runs: 5, rounds: 12, sliceMs: 15, warmUpMs: 250 };

/** What is looked for is far larger than the noise. */
const BRIEF: Effort = { runs: 3, rounds: 5, sliceMs: 6, warmUpMs: 80 };

/** Many short slices for a small difference of two large times. */
const DIFFERENCE: Effort = { runs: 5, rounds: 80, sliceMs: 3, warmUpMs: 700 };

/**
 * Long slices where a call goes through the kernel: a short one holds a few dozen of them, and tells above all how cold
 * the processor's caches were when its turn came.
 */
const OVER_SOCKETS: Effort = { runs: 5, rounds: 20, sliceMs: 50, warmUpMs: 1_000 };

/** Each slice is more than a thousand pages of 400 ms, or several hundred. */
const LOAD: Effort = { runs: 3, rounds: 1, sliceMs: 0, warmUpMs: 0 };

/** It is the same each time, or nearly. */
const COUNT: Effort = { runs: 1, rounds: 1, sliceMs: 0, warmUpMs: 0 };

/** Each slice is as long as its call makes it. */
const THROUGHPUT: Effort = { runs: 3, rounds: 2, sliceMs: 0, warmUpMs: 0 };

/** A look, not a measurement. */
const shortened = (effort: Effort): Effort => ({
  ...effort,
  runs: 1,
  rounds: Math.ceil(effort.rounds / 3),
});

function thorough(row: Row): Effort {
  if (row.overSockets === true) return OVER_SOCKETS;
  if (row.brief === true) return BRIEF;

  switch (row.measure) {
    case 'ratio':
    case 'memory':
      return RATIO;
    case 'difference':
      return DIFFERENCE;
    case 'lateness':
      return LOAD;
    case 'count':
    case 'held':
      return COUNT;
    case 'throughput':
      return THROUGHPUT;
  }
}

/**
 * `--case <id>`, as often as wanted, picks the rows whose id is or begins with it; `--quick` makes one short run;
 * `--report` measures on every Node that is reported, and writes the results down; `--rewrite` only writes.
 */
export function readCommandLine(args: readonly string[]): Command {
  const { values } = readOptions({
    args: [...args],
    options: {
      case: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      rewrite: { type: 'boolean', default: false },
    },
  });

  const { quick, report, rewrite } = values;
  const rows = pickRows(values.case);

  return { rows, effortOf: quick ? (row) => shortened(thorough(row)) : thorough, quick, report, rewrite };
}

function pickRows(wanted: readonly string[] | undefined): readonly Row[] {
  if (wanted === undefined) return ROWS;

  for (const id of wanted) {
    if (!ROWS.some((row) => matches(row, id))) {
      throw new TypeError(`--case: there is no case "${id}". ${knownNear(id)}`);
    }
  }

  return ROWS.filter((row) => wanted.some((id) => matches(row, id)));
}

/** Those of the family that it looks like one of; of another, the families, for there are more than a hundred cases. */
function knownNear(id: string): string {
  const near = ROWS.filter((row) => familyOf(row.id) === familyOf(id)).map((row) => row.id);
  if (near.length > 0) return `Known: ${near.join(', ')}.`;

  return `Known are families: ${[...new Set(ROWS.map((row) => familyOf(row.id)))].join(', ')}.`;
}

const familyOf = (id: string): string => id.replace(/-.*/, '');

/** An exact id wins: `timeout` is not also `timeout-signal`. */
function matches(row: Row, id: string): boolean {
  if (ROWS.some((known) => known.id === id)) return row.id === id;

  return row.id.startsWith(`${id}-`);
}

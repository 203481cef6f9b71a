import { layOut } from './columns.js';
import type { Measure, Row } from './row.js';
import type { RunResult } from './run-row.js';
import { median } from './statistics.js';
import { judge, targetOf, type Verdict } from './verdict.js';

/** All runs of one row, summed up. */
export interface Line {
  readonly row: Row;
  readonly ours: number;
  readonly other: number;
  readonly bare: number;
  readonly value: number;
  readonly lowest: number;
  readonly highest: number;
  /** How many there were. */
  readonly runs: number;
  readonly target: number | undefined;
  readonly verdict: Verdict;
}

export function sumUp(row: Row, runs: readonly RunResult[]): Line {
  const values = runs.map((run) => run.value);
  const value = median(values);
  const target = targetOf(row, runs[0]?.node ?? process.versions.node);

  return {
    row,
    ours: median(runs.map((run) => run.ours)),
    other: median(runs.map((run) => run.other)),
    bare: median(runs.map((run) => run.bare)),
    value,
    lowest: Math.min(...values),
    highest: Math.max(...values),
    runs: runs.length,
    target,
    verdict: judge(value, target),
  };
}

const HEADINGS = ['case', 'against', 'hooks', 'ours', 'other', 'result', 'runs', 'target', '', 'bare call'];

/** The table as text: names to the left, figures to the right. */
export function renderTable(lines: readonly Line[]): string {
  return layOut([HEADINGS, ...lines.map(cellsOf)], 3);
}

/** What both sides are given in. */
const UNITS: Readonly<Record<Measure, string>> = {
  ratio: 'ns',
  difference: 'ns',
  lateness: 'ms',
  count: 'x',
  memory: 'B',
  held: 'B',
  throughput: '/s',
};

function cellsOf(line: Line): string[] {
  const { row } = line;
  const hooks = row.hooks === 'on-in-ours' ? 'on/off' : row.hooks;

  return [
    row.title,
    row.against,
    hooks,
    amount(row, line.ours),
    amount(row, line.other),
    figure(row, line.value),
    `${figure(row, line.lowest)}..${figure(row, line.highest)}`,
    line.target === undefined ? '-' : `<= ${figure(row, line.target)}`,
    verdictText(line.verdict),
    amount(row, line.bare),
  ];
}

/** A side's figure as it is shown. */
export function amount({ measure }: Row, value: number): string {
  const unit = UNITS[measure];
  if (unit === 'ns' && value >= 10_000) return `${(value / 1_000).toFixed(value < 100_000 ? 1 : 0)} us`;

  return `${Math.round(value)} ${unit}`;
}

/** A result as it is shown. */
export function figure({ measure }: Row, value: number): string {
  switch (measure) {
    case 'ratio':
    case 'throughput':
      return value.toFixed(value < 0.2 ? 3 : value < 100 ? 2 : 0);
    case 'difference':
      return `${value.toFixed(2)} us`;
    case 'lateness':
      return `${value.toFixed(1)} ms`;
    case 'count':
      return `${value}`;
    case 'memory':
      return `${value.toFixed(2)} kB`;
    case 'held':
      return `${Math.round(value)} B`;
  }
}

/** In a word or a few. */
export function verdictText(verdict: Verdict): string {
  if (verdict.kind !== 'miss') return verdict.kind;

  return `miss by ${Math.ceil(verdict.excess * 100)} %`;
}

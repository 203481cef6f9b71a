import type { Row } from '../row.js';
import type { Group } from '../rows.js';
import { figure } from '../table.js';
import { targetOf } from '../verdict.js';
import { tableOf } from './markdown.js';
import type { Results } from './results.js';

const NONE = '–';

/** What each Node says, one after the other. */
function cellOf(row: Row | undefined, all: readonly Results[]): string {
  if (row === undefined) return NONE;

  const values = all.map(({ rows }) => rows.get(row.id)?.value);
  if (values.every((value) => value === undefined)) return NONE;

  return values.map((value) => (value === undefined ? NONE : figure(row, value))).join(' / ');
}

const nodesOf = (all: readonly Results[]): string => all.map(({ major }) => `Node ${major}`).join(' / ');

/** The rows in which a policy is compared with a library or with code by hand: by policy, then by the other side. */
export function comparedRows(groups: readonly Group[]): ReadonlyMap<string, ReadonlyMap<string, Row>> {
  const compared = groups.filter(({ title }) => COMPARING.has(title)).flatMap(({ rows }) => rows);
  const byPolicy = new Map<string, Map<string, Row>>();
  for (const row of compared) {
    if (row.measure !== 'ratio') continue;

    const others = byPolicy.get(row.title) ?? new Map<string, Row>();
    byPolicy.set(row.title, others.set(row.against, row));
  }

  return byPolicy;
}

const COMPARING: ReadonlySet<string> = new Set(['Policies', 'Refusals', 'Other libraries']);

/** Our time over each library's. */
export function libraryTable(all: readonly Results[], groups: readonly Group[]): string {
  const compared = comparedRows(groups);
  const others = [...new Set([...compared.values()].flatMap((rows) => [...rows.keys()]))];
  const body = [...compared].map(([title, rows]) => [title, ...others.map((other) => cellOf(rows.get(other), all))]);

  return tableOf([[`ours over … (${nodesOf(all)})`, ...others], ...body], 1);
}

/** The series of rows that grow: each with its rows by size. */
export function growthSeries(groups: readonly Group[]): ReadonlyMap<string, readonly Row[]> {
  const series = new Map<string, Row[]>();
  for (const row of groups.flatMap(({ rows }) => rows)) {
    if (row.growth !== undefined) series.set(row.growth.of, [...(series.get(row.growth.of) ?? []), row]);
  }

  return series;
}

const number = new Intl.NumberFormat('en');

/** What one costs among many over what it costs among few. */
export function growthTable(all: readonly Results[], groups: readonly Group[]): string {
  const series = growthSeries(groups);
  const sizes = [...new Set([...series.values()].flatMap((rows) => rows.map((row) => row.growth?.size ?? 0)))].sort(
    (a, b) => a - b,
  );
  const body = [...series].map(([of, rows]) => [
    of,
    `${number.format(rows[0]?.growth?.over ?? 1)}`,
    ...sizes.map((size) =>
      cellOf(
        rows.find((row) => row.growth?.size === size),
        all,
      ),
    ),
    boundOf(rows, all),
  ]);

  return tableOf(
    [[`cost among … (${nodesOf(all)})`, 'over', ...sizes.map((size) => number.format(size)), 'at most'], ...body],
    1,
  );
}

function boundOf(rows: readonly Row[], all: readonly Results[]): string {
  const targets = rows.flatMap((row) => all.flatMap(({ major }) => targetOf(row, `${major}`) ?? []));

  return targets.length === 0 ? NONE : [...new Set(targets)].join(' / ');
}

import type { Row } from '../row.js';
import { GROUPS, type Group } from '../rows.js';
import { amount, figure } from '../table.js';
import { fillIn, tableOf } from './markdown.js';
import { verdictsOf } from './page.js';
import { growthTable, libraryTable } from './pivots.js';
import type { Results } from './results.js';

/**
 * The page of the documentation with the figures put in; all that stands between its places stays as it is.
 *
 * @param page As it is now.
 */
export function docsPage(page: string, all: readonly Results[], groups: readonly Group[] = GROUPS): string {
  const parts: Readonly<Record<string, string>> = {
    measured: measuredWith(all),
    libraries: libraryTable(all, groups),
    missed: all.map((results) => verdictsOf(results, groups)).join('\n'),
    memory: memoryTable(all, groups),
    growth: growthTable(all, groups),
    applications: resultTable(all, groups, ['NestJS', 'Idempotency']),
  };

  return Object.entries(parts).reduce((filled, [name, text]) => fillIn(filled, name, text), page);
}

function measuredWith(all: readonly Results[]): string {
  const sittings = all.flatMap(({ rows }) => [...rows.values()].map(({ sitting }) => sitting));
  const several = (texts: readonly string[]): string => [...new Set(texts)].join(', ');
  const nodes = several(sittings.map(({ node }) => node));
  const dates = several(sittings.map(({ date }) => date).sort());
  const packages = several(
    sittings.flatMap((sitting) => Object.entries(sitting.packages).map(([name, version]) => `${name} ${version}`)),
  );
  const looks = sittings.some(({ quick }) => quick)
    ? ' Some of the figures are of one short run, and no measurement.'
    : '';

  return `Measured on ${dates} with Node ${nodes} on ${several(sittings.map(({ machine }) => machine))}: ${packages}.${looks}`;
}

const nodeOf = ({ major }: Results): string => `Node ${major}`;

function memoryTable(all: readonly Results[], groups: readonly Group[]): string {
  const rows = groups
    .flatMap((group) => group.rows)
    .filter(({ measure }) => measure === 'memory' || measure === 'held');
  const body = rows.map((row) => [
    row.title,
    ...all.map((results) => ours(row, results)),
    row.against,
    ...all.map((results) => theirs(row, results)),
  ]);

  return tableOf([['', ...all.map(nodeOf), 'other side', ...all.map(nodeOf)], ...body], 1);
}

const ours = (row: Row, { rows }: Results): string => side(row, rows.get(row.id)?.ours);
const theirs = (row: Row, { rows }: Results): string => side(row, rows.get(row.id)?.other);

function side(row: Row, value: number | undefined): string {
  return value === undefined ? '–' : amount(row, value);
}

function resultTable(all: readonly Results[], groups: readonly Group[], titles: readonly string[]): string {
  const rows = groups.filter(({ title }) => titles.includes(title)).flatMap((group) => group.rows);
  const body = rows.map((row) => [
    row.title,
    row.against,
    ...all.map(({ rows: known }) => {
      const value = known.get(row.id)?.value;

      return value === undefined ? '–' : `${figure(row, value)}${row.measure === 'throughput' ? ' times' : ''}`;
    }),
  ]);

  return tableOf([['', 'over', ...all.map(nodeOf)], ...body], 2);
}

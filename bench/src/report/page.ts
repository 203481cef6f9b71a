import type { Row } from '../row.js';
import { GROUPS, type Group } from '../rows.js';
import { amount, figure, verdictText } from '../table.js';
import { judge, targetOf } from '../verdict.js';
import { growthTable, libraryTable } from './pivots.js';
import { tableOf } from './markdown.js';
import type { Result, Results, Sitting } from './results.js';

/**
 * The whole report, from the figures of each Node, side by side.
 *
 * @param all One for each major version of Node, at least one.
 */
export function reportPage(all: readonly Results[], groups: readonly Group[] = GROUPS): string {
  const sittings = new Sittings(all);

  return [
    '# Results of the benches',
    '',
    "Ratios are our time over the other side's, in one process at the same time: below 1 we take less. A result is the median of",
    'what pairs of slices gave, and the two times beside it are medians of their own, so one over the other is not quite the result.',
    "How it is measured, and where what misses its target spends its time, is in [the benches' README](README.md); a nanosecond here",
    'is another one on another machine. `npm run bench -- --report` measures anew, and writes this page, from the figures in',
    '`results/`, and the plots.',
    '',
    sittings.table(),
    '',
    sittings.packages(),
    '',
    ...all.map((results) => verdictsOf(results, groups)),
    '',
    '## Against each library',
    '',
    libraryTable(all, groups),
    '',
    '## Growth',
    '',
    growthTable(all, groups),
    '',
    '## All rows',
    ...groups.flatMap((group) => ['', `### ${group.title}`, '', groupTable(group, all, sittings)]),
    '',
  ].join('\n');
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/** Where figures are from. Nearly all of a Node are from one sitting; those that are not are marked with a letter. */
class Sittings {
  readonly #marks = new Map<string, string>();
  readonly #sittings = new Map<string, Sitting>();

  constructor(all: readonly Results[]) {
    for (const { rows } of all) {
      const counts = new Map<string, number>();
      for (const { sitting } of rows.values()) {
        const key = JSON.stringify(sitting);
        this.#sittings.set(key, sitting);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      const [, ...others] = [...counts].sort(([, some], [, more]) => more - some);
      for (const [key] of others) this.#marks.set(key, LETTERS[this.#marks.size % LETTERS.length] as string);
    }
  }

  markOf({ sitting }: Result): string {
    const mark = this.#marks.get(JSON.stringify(sitting));

    return mark === undefined ? '' : ` (${mark})`;
  }

  table(): string {
    const lines = [...this.#sittings].map(([key, { node, date, machine, quick }]) => [
      node,
      date,
      machine,
      `${this.#marks.get(key) ?? (this.#marks.size === 0 ? 'all' : 'all others')}${quick ? ': a look, no measurement' : ''}`,
    ]);

    return tableOf([['Node', 'date', 'machine', 'rows'], ...lines], 4);
  }

  packages(): string {
    const known = [...this.#sittings.values()].flatMap(({ packages }) => Object.entries(packages));
    const versions = new Set(known.map(([name, version]) => `${name} ${version}`));

    return `Measured with ${[...versions].join(', ')}.`;
  }
}

/** How many targets are met on a Node, and which are not, as an item of a list. */
export function verdictsOf({ rows }: Results, groups: readonly Group[]): string {
  const [{ sitting: { node } } = { sitting: { node: '' } }] = rows.values();
  const judged = groups
    .flatMap((group) => group.rows)
    .flatMap((row) => {
      const result = rows.get(row.id);
      const target = targetOf(row, node);

      return result === undefined || target === undefined ? [] : [{ row, verdict: judge(result.value, target) }];
    });
  const missed = judged.filter(({ verdict }) => verdict.kind === 'miss');
  const list = missed
    .map(({ row, verdict }) => `${row.title} over ${row.against} (${verdictText(verdict)})`)
    .join('; ');

  return `- Node ${node}: ${judged.length - missed.length} of ${judged.length} targets are met.${list === '' ? '' : ` Missed: ${list}.`}`;
}

function groupTable({ rows }: Group, all: readonly Results[], sittings: Sittings): string {
  const perNode = all.flatMap(({ major }) => [
    `Node ${major}: ours`,
    'other',
    'result',
    'of its runs',
    'target',
    'verdict',
  ]);
  const body = rows.map((row) => [
    row.title,
    row.against,
    row.hooks === 'on-in-ours' ? 'on/off' : row.hooks,
    ...all.flatMap(({ rows: known }) => cellsOf(row, known.get(row.id), sittings)),
  ]);

  return tableOf([['case', 'against', 'hooks', ...perNode], ...body], 3);
}

function cellsOf(row: Row, result: Result | undefined, sittings: Sittings): readonly string[] {
  if (result === undefined) return ['–', '–', '–', '–', '–', 'not measured'];

  const { ours, other, value, lowest, highest, runs, sitting } = result;
  const target = targetOf(row, sitting.node);

  return [
    amount(row, ours),
    amount(row, other),
    `**${figure(row, value)}**${sittings.markOf(result)}`,
    `${figure(row, lowest)} to ${figure(row, highest)} (${runs})`,
    target === undefined ? '–' : figure(row, target),
    verdictText(judge(value, target)),
  ];
}

import { majorOf } from '../measured-node.js';
import type { Line } from '../table.js';

/** What was measured at once: on one machine, with one Node and one set of packages. */
export interface Sitting {
  /** As in 2026-11-30. */
  readonly date: string;
  /** As in 20.19.0. */
  readonly node: string;
  /** Processor, how many of it there are, and memory. */
  readonly machine: string;
  /** Whether it was a look and no measurement. */
  readonly quick: boolean;
  /** Versions of packages by their names. */
  readonly packages: Readonly<Record<string, string>>;
}

/** The figures of a row, in the units of its measure. */
export interface Figures {
  readonly ours: number;
  readonly other: number;
  readonly bare: number;
  readonly value: number;
  readonly lowest: number;
  readonly highest: number;
  /** What they are the median of. */
  readonly runs: number;
}

export interface Result extends Figures {
  readonly sitting: Sitting;
}

/** What is known of one major version of Node: the last figures of each row, by its id, with the sitting they are from. */
export interface Results {
  readonly major: number;
  readonly rows: ReadonlyMap<string, Result>;
}

/**
 * Puts what was measured now in the place of what is known of the same rows. Rows that were not measured keep their
 * figures and their sitting, and so do those that were measured before and only looked at now; rows that are no more are
 * left out.
 *
 * @param known What was measured before on this major version of Node.
 * @param ids Of all rows that there are.
 */
export function merge(
  known: Results | undefined,
  measured: { readonly sitting: Sitting; readonly lines: readonly Line[] },
  ids: readonly string[],
): Results {
  const { sitting, lines } = measured;
  const rows = new Map(known?.rows);
  for (const line of lines) {
    const isOnlyLooked = sitting.quick && rows.get(line.row.id)?.sitting.quick === false;
    if (!isOnlyLooked) rows.set(line.row.id, { ...figuresOf(line), sitting });
  }

  return {
    major: majorOf(sitting.node),
    rows: new Map(ids.flatMap((id) => (rows.has(id) ? [[id, rows.get(id) as Result]] : []))),
  };
}

function figuresOf({ ours, other, bare, value, lowest, highest, runs }: Line): Figures {
  return { ours, other, bare, value, lowest, highest, runs };
}

/** As many digits as mean anything. */
const DIGITS = 4;

/** As text, each sitting once. */
export function writeResults({ major, rows }: Results): string {
  const sittings = [...new Set([...rows.values()].map(({ sitting }) => JSON.stringify(sitting)))];
  const lines = [...rows].map(([id, { sitting, ...figures }]) => {
    const short = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(DIGITS))]);

    return `    ${JSON.stringify(id)}: ${JSON.stringify({ sitting: sittings.indexOf(JSON.stringify(sitting)), ...Object.fromEntries(short) })}`;
  });

  return [
    '{',
    `  "major": ${major},`,
    '  "sittings": [',
    sittings.map((sitting) => `    ${sitting}`).join(',\n'),
    '  ],',
    '  "rows": {',
    lines.join(',\n'),
    '  }',
    '}',
    '',
  ].join('\n');
}

interface Written {
  readonly major: number;
  readonly sittings: readonly Sitting[];
  readonly rows: Readonly<Record<string, Figures & { readonly sitting: number }>>;
}

export function readResults(text: string): Results {
  const { major, sittings, rows } = JSON.parse(text) as Written;

  return {
    major,
    rows: new Map(
      Object.entries(rows).map(([id, { sitting, ...figures }]) => [
        id,
        { ...figures, sitting: sittings[sitting] as Sitting },
      ]),
    ),
  };
}

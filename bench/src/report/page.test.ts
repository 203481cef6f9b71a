import { describe, expect, it } from 'vitest';
import type { Row } from '../row.js';
import type { Group } from '../rows.js';
import { reportPage } from './page.js';
import type { Result, Results, Sitting } from './results.js';

const row = (given: Partial<Row> & { readonly id: string }): Row => ({
  title: given.id,
  against: 'cockatiel',
  measure: 'ratio',
  hooks: 'off',
  sides: () => Promise.reject(new Error('not measured here')),
  ...given,
});

const TARGET = { node20: 0.7, node24: 0.6 };
const GROUPS: readonly Group[] = [
  {
    title: 'Policies',
    rows: [
      row({ id: 'retry', title: 'retry, no failure', target: TARGET }),
      row({ id: 'retry-over-effect', title: 'retry, no failure', against: 'effect' }),
    ],
  },
  {
    title: 'Growth',
    rows: [100, 10_000].map((size) =>
      row({
        id: `grant-${size}`,
        against: '1',
        target: { node20: 2, node24: 2 },
        growth: { of: 'grant', size, over: 1 },
      }),
    ),
  },
];

const sitting = (node: string, given: Partial<Sitting> = {}): Sitting => ({
  date: '2026-11-30',
  node,
  machine: '2 × processor, 8 GiB',
  quick: false,
  packages: { holdfast: '0.1.0', cockatiel: '3.2.1' },
  ...given,
});

const result = (value: number, from: Sitting): Result => ({
  ours: value * 200,
  other: 200,
  bare: 50,
  value,
  lowest: value - 0.01,
  highest: value + 0.01,
  runs: 5,
  sitting: from,
});

function resultsOf(node: string, values: Readonly<Record<string, number>>): Results {
  const from = sitting(node);

  return {
    major: Number.parseInt(node, 10),
    rows: new Map(Object.entries(values).map(([id, value]) => [id, result(value, from)])),
  };
}

const ALL = { retry: 0.65, 'retry-over-effect': 0.1, 'grant-100': 1.02, 'grant-10000': 1.3 };
const both = [resultsOf('20.20.2', ALL), resultsOf('24.1.0', ALL)];

const lineOf = (page: string, start: string): string | undefined =>
  page.split('\n').find((text) => text.startsWith(start));

describe('the report', () => {
  it('shows a row of both Nodes side by side, each against its own target', () => {
    expect(lineOf(reportPage(both, GROUPS), '| retry, no failure | cockatiel | off')).toBe(
      '| retry, no failure | cockatiel | off | 130 ns | 200 ns | **0.65** | 0.64 to 0.66 (5) | 0.70 | pass ' +
        '| 130 ns | 200 ns | **0.65** | 0.64 to 0.66 (5) | 0.60 | miss by 9 % |',
    );
  });

  it('says how many targets are met on each Node, and which are not', () => {
    const page = reportPage(both, GROUPS);

    expect(page).toContain('- Node 20.20.2: 3 of 3 targets are met.\n');
    expect(page).toContain(
      '- Node 24.1.0: 2 of 3 targets are met. Missed: retry, no failure over cockatiel (miss by 9 %).\n',
    );
  });

  it('shows a policy against each library', () => {
    const page = reportPage(both, GROUPS);

    expect(page).toContain('| ours over … (Node 20 / Node 24) | cockatiel | effect |');
    expect(page).toContain('| retry, no failure | 0.65 / 0.65 | 0.100 / 0.100 |');
  });

  it('shows how a series grows', () => {
    const page = reportPage(both, GROUPS);

    expect(page).toContain('| cost among … (Node 20 / Node 24) | over | 100 | 10,000 | at most |');
    expect(page).toContain('| grant | 1 | 1.02 / 1.02 | 1.30 / 1.30 | 2 |');
  });

  it('says when, where and with what it was measured', () => {
    const page = reportPage(both, GROUPS);

    expect(page).toContain('| 24.1.0 | 2026-11-30 | 2 × processor, 8 GiB | all |');
    expect(page).toContain('Measured with holdfast 0.1.0, cockatiel 3.2.1.');
  });

  it('says so where a Node has not been measured, and leaves no other figure out', () => {
    const page = reportPage([resultsOf('20.20.2', ALL), resultsOf('24.1.0', { retry: 0.65 })], GROUPS);

    expect(lineOf(page, '| grant-100 ')).toMatch(/\*\*1\.02\*\* .* \| – \| – \| – \| – \| – \| not measured \|$/);
    expect(page).toContain('| retry, no failure | 0.65 / 0.65 | 0.100 / – |');
    expect(page).toContain('| grant | 1 | 1.02 / – | 1.30 / – | 2 |');
  });

  it('marks figures of another day, and a look as such', () => {
    const later = sitting('20.20.2', { date: '2026-12-01', quick: true });
    const known = resultsOf('20.20.2', ALL);
    const mixed = { major: 20, rows: new Map([...known.rows, ['retry', result(0.5, later)] as const]) };
    const page = reportPage([mixed], GROUPS);

    expect(page).toContain('| 20.20.2 | 2026-12-01 | 2 × processor, 8 GiB | a: a look, no measurement |');
    expect(page).toContain('| 20.20.2 | 2026-11-30 | 2 × processor, 8 GiB | all others |');
    expect(lineOf(page, '| retry, no failure | cockatiel')).toContain('**0.50** (a)');
    expect(lineOf(page, '| retry, no failure | effect')).toContain('**0.100** |');
  });
});

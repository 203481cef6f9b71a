import { describe, expect, it } from 'vitest';
import type { Row } from './row.js';
import { ROWS } from './rows.js';
import type { RunResult } from './run-row.js';
import { renderTable, sumUp } from './table.js';

const rowOf = (id: string): Row => ROWS.find((row) => row.id === id) as Row;

const run = (value: number): RunResult => ({ node: '20.19.0', ours: 200, other: 400, bare: 100, value });

describe('the sum of a row', () => {
  it('is the median of its runs, with the lowest and the highest', () => {
    const line = sumUp(rowOf('retry'), [0.9, 0.5, 0.6].map(run));

    expect(line).toMatchObject({
      value: 0.6,
      lowest: 0.5,
      highest: 0.9,
      runs: 3,
      target: 0.7,
      verdict: { kind: 'pass' },
    });
  });
});

describe('the table', () => {
  it('shows a ratio beside its target and the cost of a bare call', () => {
    const table = renderTable([sumUp(rowOf('retry'), [run(0.76)])]);

    expect(table.split('\n')[1]).toBe(
      'retry, no failure  cockatiel  off    200 ns  400 ns    0.76  0.76..0.76  <= 0.70  miss by 9 %     100 ns',
    );
  });

  it('shows a difference in microseconds', () => {
    expect(renderTable([sumUp(rowOf('nest-quotes'), [run(2.345)])])).toMatch(/ 2\.3[45] us .* <= 3\.00 us\s+pass/);
  });

  it('shows lateness in milliseconds', () => {
    const line = sumUp(rowOf('home-under-load'), [{ node: '20.19.0', ours: 412.4, other: 400, bare: 3, value: 12.4 }]);

    expect(renderTable([line])).toMatch(/ 412 ms +400 ms +12\.4 ms .* <= 25\.0 ms +pass +3 ms/);
  });

  it('shows counts as they are', () => {
    const line = sumUp(rowOf('idempotency-statements'), [{ node: '20.19.0', ours: 3, other: 2, bare: 2, value: 3 }]);

    expect(renderTable([line])).toMatch(/ 3 x +2 x +3 +3\.\.3 +<= 2 +miss by 50 %/);
  });

  it('shows memory in kilobytes', () => {
    expect(renderTable([sumUp(rowOf('five-stages-memory'), [run(2.05)])])).toMatch(/200 B .* 2\.05 kB .* <= 2\.10 kB/);
  });
});

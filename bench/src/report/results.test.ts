import { describe, expect, it } from 'vitest';
import type { Line } from '../table.js';
import { merge, readResults, writeResults, type Results, type Sitting } from './results.js';

const sitting = (given: Partial<Sitting> = {}): Sitting => ({
  date: '2026-11-30',
  node: '20.20.2',
  machine: '2 × processor, 8 GiB',
  quick: false,
  packages: { holdfast: '0.1.0' },
  ...given,
});

const line = (id: string, value: number): Line =>
  ({ row: { id }, ours: value * 100, other: 100, bare: 50, value, lowest: value, highest: value, runs: 5 }) as Line;

const IDS = ['retry', 'bulkhead', 'timeout'];

const before = merge(undefined, { sitting: sitting(), lines: [line('retry', 0.7), line('bulkhead', 0.8)] }, IDS);

describe('figures that are kept', () => {
  it('are those of the last measurement, and rows that it left out keep theirs, with where they are from', () => {
    const later = sitting({ date: '2026-12-01' });
    const { rows } = merge(before, { sitting: later, lines: [line('retry', 0.6)] }, IDS);

    expect(rows.get('retry')).toMatchObject({ value: 0.6, sitting: { date: '2026-12-01' } });
    expect(rows.get('bulkhead')).toMatchObject({ value: 0.8, sitting: { date: '2026-11-30' } });
  });

  it('are not replaced by a look', () => {
    const look = { sitting: sitting({ quick: true }), lines: [line('retry', 5), line('timeout', 1)] };
    const { rows } = merge(before, look, IDS);

    expect(rows.get('retry')?.value).toBe(0.7);
    expect(rows.get('timeout')?.value).toBe(1);
  });

  it('replace a look', () => {
    const looked = merge(undefined, { sitting: sitting({ quick: true }), lines: [line('retry', 5)] }, IDS);

    expect(merge(looked, { sitting: sitting(), lines: [line('retry', 0.7)] }, IDS).rows.get('retry')?.value).toBe(0.7);
  });

  it('leave out rows that are no more, and are in the order of the rows', () => {
    const { rows } = merge(before, { sitting: sitting(), lines: [line('timeout', 1)] }, ['timeout', 'bulkhead']);

    expect([...rows.keys()]).toEqual(['timeout', 'bulkhead']);
  });

  it('do not write to what was known', () => {
    merge(before, { sitting: sitting(), lines: [line('retry', 9)] }, IDS);

    expect(before.rows.get('retry')?.value).toBe(0.7);
  });

  it('are read as they were written, but for digits that mean nothing', () => {
    const known: Results = merge(
      before,
      { sitting: sitting({ date: '2026-12-01' }), lines: [line('timeout', 1.234567)] },
      IDS,
    );
    const text = writeResults(known);

    expect(readResults(text).rows.get('timeout')).toMatchObject({ value: 1.235, sitting: { date: '2026-12-01' } });
    expect(readResults(text).rows.get('retry')).toEqual(known.rows.get('retry'));
    expect(writeResults(readResults(text))).toBe(text);
  });
});

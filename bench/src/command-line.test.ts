import { describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.js';
import { ROWS } from './rows.js';

const idsOf = (...args: string[]): string[] => readCommandLine(args).rows.map((row) => row.id);

describe('the command line', () => {
  it('measures every row, five times or three where what is looked for is larger, when nothing is asked for', () => {
    const { rows, effortOf } = readCommandLine([]);

    expect(rows).toBe(ROWS);
    expect(
      rows.filter(({ id }) => id === 'retry' || id === 'waiters-grant-100').map((row) => effortOf(row).runs),
    ).toEqual([5, 3]);
  });

  it('picks the row of that id and no other that begins with it', () => {
    expect(idsOf('--case', 'timeout')).toEqual(['timeout']);
  });

  it('picks all rows of a family', () => {
    expect(idsOf('--case', 'refusal-open')).toEqual(['refusal-open-cockatiel', 'refusal-open-opossum']);
  });

  it('picks several', () => {
    expect(idsOf('--case', 'bulkhead', '--case', 'retry')).toEqual(['retry', 'bulkhead']);
  });

  it('makes one run when it has to be quick', () => {
    const { rows, effortOf } = readCommandLine(['--quick']);

    expect(new Set(rows.map((row) => effortOf(row).runs))).toEqual(new Set([1]));
  });

  it('writes a report only when it is asked to', () => {
    expect(readCommandLine(['--quick'])).toMatchObject({ quick: true, report: false });
    expect(readCommandLine(['--report', '--case', 'retry'])).toMatchObject({ quick: false, report: true });
  });

  it('refuses a case that it does not know, with the families that there are', () => {
    expect(() => readCommandLine(['--case', 'retires'])).toThrow(
      /no case "retires"\. Known are families: retry, circuit, (?:\w+, )+home\.$/,
    );
  });

  it('refuses a case that it does not know in a family that it does, with the cases of that', () => {
    expect(() => readCommandLine(['--case', 'names-5'])).toThrow(
      /no case "names-5"\. Known: names-100, names-10000, names-by-hand-100, names-by-hand-10000\.$/,
    );
  });

  it('refuses an unknown option', () => {
    expect(() => readCommandLine(['--fast'])).toThrow(/--fast/);
  });
});

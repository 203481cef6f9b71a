import { describe, expect, it } from 'vitest';
import type { Row } from './row.js';
import { tookAbout } from './stopwatch.js';
import { renderTable } from './table.js';

const row = (here: string, holds: boolean): Row => ({
  what: 'a call',
  article: '4 ms',
  here,
  condition: 'about 4 ms',
  holds,
});

describe('the table', () => {
  it('stands in columns, also where Chinese characters take two of a terminal each', () => {
    const table = renderTable([row('返回', true), row('500 ms', false)]);

    expect(table.split('\n')).toEqual([
      'row  what    article  here    condition   holds',
      '1    a call  4 ms     返回    about 4 ms  yes',
      '2    a call  4 ms     500 ms  about 4 ms  NO',
    ]);
  });

  it('numbers the ninth row as the other half of the eighth', () => {
    const table = renderTable(Array.from({ length: 9 }, () => row('4 ms', true)));

    expect(table.split('\n').map((line) => line.split(' ')[0])).toEqual([
      'row',
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      '8',
      '8b',
    ]);
  });
});

describe('a time', () => {
  it.each([
    [398.9, false],
    [399, true],
    [450, true],
    [450.1, false],
  ])('of %d ms is about 400 ms with a slack of 50 ms: %s', (ms, isAbout) => {
    expect(tookAbout(ms, 400, 50)).toBe(isAbout);
  });
});

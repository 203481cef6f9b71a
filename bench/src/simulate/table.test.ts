import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PHASES } from './phases.js';
import { simulate } from './simulation.js';
import { renderReports } from './table.js';

const table = renderReports(simulate(1));

describe('the table', () => {
  it('has one block per phase with one line per rule', () => {
    const [, ...blocks] = table.split('\n\n');

    expect(blocks.map((block) => block.split('  ')[0])).toEqual(PHASES.map(({ name }) => name));
    for (const block of blocks) {
      expect(block.split('\n').map((line) => /quantile|rto|mean|naive/.exec(line)?.[0])).toEqual([
        'quantile',
        'rto',
        'mean',
        'naive',
      ]);
    }
  });

  it('says how long a rule took, how many calls it cut meanwhile, and when it never got there', () => {
    expect(table).toMatch(/step x5 +quantile .* \d+ calls, \d+ cut\n/);
    expect(table).toMatch(/\n +naive +100\.0 % +100\.0 % .* never\n/);
  });

  it('says of returns when the limit was back', () => {
    expect(table).toMatch(/back from x5 +quantile .* at once +\d+ calls\n/);
  });

  it('is the same on the page about adaptive timeouts, as far as that shows it', () => {
    const shown = readFileSync(new URL('../../../docs/snippets/shown/simulation.txt', import.meta.url), 'utf8');

    for (const block of shown.trimEnd().split('\n\n')) expect(table).toContain(block);
  });
});

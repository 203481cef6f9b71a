import { cpus } from 'node:os';
import { fillIn, tableOf } from '../report/markdown.js';
import type { Verdict } from './judge/verdict.js';
import type { RunRecord } from './records.js';
import { HEADINGS, rowsOf } from './table.js';

/** What a reader of the page has no use for. */
const LEFT_OUT: readonly (typeof HEADINGS)[number][] = ['breaker of quotes', 'over budget'];

/** Puts a run into the page, with the day and the place where it was made. */
export function writeInto(page: string, record: RunRecord, verdicts: readonly Verdict[]): string {
  const isShown = HEADINGS.map((heading) => !LEFT_OUT.includes(heading));
  const rows = [HEADINGS, ...rowsOf(record.phases)].map((row) => row.filter((_, column) => isShown[column]));
  const requests = record.phases.reduce((sum, { answers }) => sum + answers.length, 0);
  const day = new Date().toISOString().slice(0, 10);
  const text = [
    `${requests} requests on ${day}, with seed ${record.seed}, Node ${process.versions.node} and ${cpus().length} processors:`,
    '',
    tableOf(rows, 1),
    '',
    'What was shown:',
    '',
    ...verdicts.map(({ sentence, note }) => `- ${sentence}${note === undefined ? '' : ` (${note})`}.`),
  ].join('\n');

  return fillIn(page, 'load', text);
}

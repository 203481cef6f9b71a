import { cpus } from 'node:os';
import { fillIn, tableOf } from '../report/markdown.js';
import type { Verdict } from './judge/verdict.js';
import type { RunRecord } from './records.js';
import { HEADINGS, rowsOf } from './table.js';

/** What a reader of the page wants to know of each phase. */
const SHOWN: readonly (typeof HEADINGS)[number][] = [
  'dependency',
  'requests',
  'whole',
  'degraded',
  'rejected',
  'timed out',
  'failed',
  'p50',
  'p99',
  'max',
  'bare late',
  'calls seen',
  'answered',
  'failed there',
  'cut',
  'never made',
];

/** Puts a run into the page, with the day and the place where it was made. */
export function writeInto(page: string, record: RunRecord, verdicts: readonly Verdict[]): string {
  const columns = SHOWN.map((heading) => HEADINGS.indexOf(heading));
  const rows = [HEADINGS, ...rowsOf(record.phases)].map((row) => columns.map((column) => row[column] ?? ''));
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

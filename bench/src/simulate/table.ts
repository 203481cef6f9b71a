import { layOut } from '../columns.js';
import { RULES, type Report } from './simulation.js';

const HEADINGS = ['phase', 'rule', 'timeouts', 'good cut', 'p99', 'limit', 'above p99 after', 'back after'];

/** One block of lines per phase, one line per rule. */
export function renderReports(reports: readonly Report[]): string {
  const lines = layOut([HEADINGS, ...reports.map(cellsOf)], 2).split('\n');
  const [headings = '', ...rows] = lines;
  const blocks = rows.map((row, index) => (index % RULES.length === 0 ? `\n${row}` : row));

  return [headings, ...blocks].join('\n');
}

function cellsOf({ phase, rule, timeouts, goodCut, p99Ms, limitMs, toAbove, toBack }: Report, index: number): string[] {
  return [
    index % RULES.length === 0 ? phase.name : '',
    rule,
    percent(timeouts),
    percent(goodCut),
    `${Math.round(p99Ms)} ms`,
    `${Math.round(limitMs)} ms`,
    toAbove === undefined ? 'never' : calls(toAbove.calls, toAbove.cuts),
    phase.isReturn ? (toBack === undefined ? 'never' : calls(toBack)) : '',
  ];
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

function calls(count: number, cuts = 0): string {
  if (count === 0) return 'at once';

  return `${count} ${count === 1 ? 'call' : 'calls'}${cuts === 0 ? '' : `, ${cuts} cut`}`;
}

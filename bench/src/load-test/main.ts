import { readFileSync, writeFileSync } from 'node:fs';
import { readOrExit } from '../../../tools/command-line/command-line.mjs';
import { readCommandLine } from './command-line.js';
import { judge } from './judge/judge.js';
import { holds, type Verdict } from './judge/verdict.js';
import { drawRun } from './draw-run.js';
import { writeInto } from './page.js';
import { run } from './run.js';
import { renderTable } from './table.js';

const PAGE = new URL('../../../docs/performance.md', import.meta.url);
const PLOT = new URL('../../../docs/plots/load.svg', import.meta.url);
const MOST_SHOWN = 8;

function lineOf(verdict: Verdict): string {
  const { sentence, note, excused = 0 } = verdict;
  const sure = excused === 0 ? 'holds ' : 'UNSURE';
  const machine = excused === 0 ? [] : [`${excused} were later while the machine was late itself, and are not judged`];
  const notes = [...(note === undefined ? [] : [note]), ...machine];

  return `${holds(verdict) ? sure : 'FAILS '}  ${sentence}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}.`;
}

const { seed, seconds, fault, plot, write } = readOrExit(readCommandLine);
process.stderr.write(`Load for ${seconds} s, seed ${seed}, Node ${process.version}.\n`);
const record = await run({
  seed,
  seconds,
  fault,
  onPhase: ({ condition, answers }) => process.stderr.write(`${condition}: ${answers.length} requests\n`),
});
console.log(renderTable(record.phases));
console.log(
  'Times are milliseconds. "over budget": by how much the latest answer was later than the budget of its route, below 0 if none was.',
);
console.log('');

const verdicts = judge(record);
for (const verdict of verdicts) {
  console.log(lineOf(verdict));
  for (const finding of verdict.findings.slice(0, MOST_SHOWN)) console.log(`         ${finding}`);
  const more = verdict.findings.length - MOST_SHOWN;
  if (more > 0) console.log(`         and ${more} more`);
}
if (plot !== undefined) writeFileSync(plot, drawRun(record));
const isRight = verdicts.every((verdict) => holds(verdict) && (verdict.excused ?? 0) === 0);
if (write && isRight) {
  writeFileSync(PLOT, drawRun(record));
  writeFileSync(PAGE, writeInto(readFileSync(PAGE, 'utf8'), record, verdicts));
} else if (write) {
  console.log('\nNothing was written: not everything was shown.');
}
if (!verdicts.every(holds)) process.exitCode = 1;

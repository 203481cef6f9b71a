import { casesOf, type Wanted } from './cases.js';
import { readCommandLine, STORES, type Command } from './command-line.js';
import { reportLine } from './report-line.js';
import { runCase } from './run-case.js';
import { endAllSurroundings, requireServers } from './surroundings.js';
import { timelineOf } from './timeline.js';

const MOST_SHOWN = 10;

const { store, case: only, fault, seed: firstSeed, times, seconds } = await commandOrExit();
const stores = store === undefined ? STORES : [store];

/** What is wrong with the command line, or is missing here, is a sentence, and not the trace of a program with a fault. */
async function commandOrExit(): Promise<Command> {
  try {
    const command = readCommandLine(process.argv.slice(2));
    await requireServers(command.store === undefined ? STORES : [command.store]);
    return command;
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}

interface Totals {
  cases: number;
  requests: number;
  kills: number;
  violations: number;
}

const totals: Totals = { cases: 0, requests: 0, kills: 0, violations: 0 };

async function runOne(wanted: Wanted): Promise<void> {
  const report = await runCase(wanted);
  const passed = seconds === 0 ? '' : `${Math.round(performance.now() / 1_000)} of ${seconds} s, `;
  console.log(`${passed}${reportLine(report)}`);
  for (const { what } of report.violations.slice(0, MOST_SHOWN)) console.log(`  ${what}`);
  const shown = report.violations.find(({ story }) => story !== undefined)?.story;
  for (const line of shown === undefined ? [] : timelineOf(shown, report.evidence)) console.log(`  ${line}`);

  totals.cases += 1;
  totals.requests += report.requests;
  totals.kills += report.kills;
  totals.violations += report.violations.length;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void endAllSurroundings().finally(() => process.exit(1)));
}

/** All cases once, or again and again with other seeds until the time is over. */
for (let seed = firstSeed; seed === firstSeed || performance.now() < seconds * 1_000; seed++) {
  for (const name of stores) {
    for (const one of casesOf(name).filter((candidate) => only === undefined || candidate === only)) {
      await runOne({ store: name, case: one, seed, times, fault });
    }
  }
}
const { cases, requests, kills, violations } = totals;
console.log(`cases ${cases}, requests ${requests}, kills ${kills}, violations: ${violations}`);
if (violations > 0) process.exitCode = 1;

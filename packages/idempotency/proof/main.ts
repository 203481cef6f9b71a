import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { CASES, casesOf, type CaseName, type Wanted } from './cases.js';
import { reportLine } from './report-line.js';
import { runCase } from './run-case.js';
import { FAULTS, type Fault, type StoreName } from './server/server-settings.js';
import { endAllSurroundings, requireServers } from './surroundings.js';
import { timelineOf } from './timeline.js';

const STORES: readonly StoreName[] = ['postgres', 'redis'];
const MOST_SHOWN = 10;

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    case: { type: 'string' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    fault: { type: 'string' },
    times: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '0' },
  },
});

function oneOf<T extends string>(known: readonly T[], option: string, given: string | undefined): T | undefined {
  if (given === undefined || known.includes(given as T)) return given as T | undefined;

  throw new TypeError(`--${option} ${given}: expected one of ${known.join(', ')}.`);
}

function countIn(option: string, given: string, least: number): number {
  const count = Number(given);
  if (Number.isInteger(count) && count >= least) return count;

  throw new TypeError(`--${option} ${given}: expected a whole number of at least ${least}.`);
}

const store = oneOf(STORES, 'store', values.store);
const only: CaseName | undefined = oneOf(CASES, 'case', values.case);
const fault: Fault | undefined = oneOf(FAULTS, 'fault', values.fault);
if (fault !== undefined && store !== 'postgres') throw new TypeError('--fault needs --store postgres.');
const times = countIn('times', values.times, 1);
const firstSeed = countIn('seed', values.seed, 0);
const seconds = countIn('seconds', values.seconds, 0);

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

const stores = store === undefined ? STORES : [store];
await requireServers(stores);
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

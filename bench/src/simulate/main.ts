// Beside the benches, since it says how good the estimators are, as those say what policies cost: neither is a check
// of the project. What it must hold is tested in `simulation.test.ts`.
import { readOrExit } from '../../../tools/command-line/command-line.mjs';
import { readSeed } from './command-line.js';
import { simulate } from './simulation.js';
import { renderReports } from './table.js';

const EXPLANATION = `
timeouts         calls that were cut, of all calls
good cut         of the calls that take as long as usual (no spike, no hanging server), those that were cut
p99, limit       at the end of the phase
above p99 after  until the limit was above the 99th percentile: the calls that took, and how many of them were cut
back after       until the limit was below twice that at the end of "steady"
naive            twice the average of the last ten answers; what was cut leaves no trace`;

function print(seed: number): void {
  console.log(`A server that is not there, seed ${seed}: the median call takes 100 ms while it is steady.\n`);
  console.log(renderReports(simulate(seed)));
  console.log(EXPLANATION);
}

print(readOrExit(readSeed));

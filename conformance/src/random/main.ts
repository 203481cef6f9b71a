import { readOrExit } from '../../../tools/command-line/command-line.mjs';
import { Campaign, type Failure, type Range } from './campaign.js';
import { readCommandLine } from './command-line.js';
import { LEAST_PERCENT } from './coverage.js';
import type { Scenario } from './scenario.js';
import { storyOf } from './story.js';

/** How often a line of progress is printed, in milliseconds. */
const PROGRESS_MS = 10_000;
/** Fewer executions say little about what one in a hundred reaches. */
const ENOUGH_FOR_COVERAGE = 5_000;

const heap = (): string => `${(process.memoryUsage().heapUsed / 1e6).toFixed(0)} MB on the heap`;
const elapsed = process.hrtime.bigint();
const secondsSo = (): number => Number(process.hrtime.bigint() - elapsed) / 1e9;

/** Prints a line every few seconds. */
function progressOf(executions: number): (played: number) => void {
  let nextLine = PROGRESS_MS / 1_000;

  return (played) => {
    if (played % 100 !== 0 || secondsSo() < nextLine) return;

    nextLine = secondsSo() + PROGRESS_MS / 1_000;
    console.log(`${played} of ${executions} executions, ${(played / secondsSo()).toFixed(0)} a second, ${heap()}`);
  };
}

/** Whether everything holds. */
async function tell(campaign: Campaign, failure: Failure | undefined): Promise<boolean> {
  if (failure !== undefined) console.log(storyOf(await campaign.shrink(failure)));

  return failure === undefined;
}

async function playScenario(campaign: Campaign, scenario: Scenario): Promise<boolean> {
  const { violations } = await campaign.play(scenario);
  const holds = await tell(campaign, violations.length === 0 ? undefined : { seed: undefined, scenario, violations });
  if (holds) console.log('Everything holds.');

  return holds;
}

/** Whether everything holds, and what there is to reach was reached. */
async function playMany(campaign: Campaign, range: Range): Promise<boolean> {
  const { seed, executions } = range;
  if (!(await tell(campaign, await campaign.run(range, progressOf(executions))))) return false;

  const { lines, missed } = campaign.coverage;
  const pace = `${(executions / secondsSo()).toFixed(0)} a second, ${heap()}`;
  console.log('Of all executions, so many reached:');
  console.log(lines.join('\n'));
  console.log(`${executions} executions from seed ${seed} on, ${pace}. Everything holds.`);
  if (executions < ENOUGH_FOR_COVERAGE || missed.length === 0) return true;

  console.log(`Less than ${LEAST_PERCENT} % reached: ${missed.join(', ')}.`);
  return false;
}

const { scenario, ...range } = readOrExit(readCommandLine);
const campaign = await Campaign.open();
try {
  const holds = scenario === undefined ? await playMany(campaign, range) : await playScenario(campaign, scenario);
  if (!holds) process.exitCode = 1;
} finally {
  // A campaign listens to what nobody handles. So that an error of this program ends it, it has to be closed by then.
  campaign.close();
}

import { readOrExit } from '../../../tools/command-line/command-line.mjs';
import { Campaign, type Failure, type Range } from './campaign.js';
import { readCommandLine } from './command-line.js';
import { LEAST_PERCENT } from './coverage.js';
import type { Scenario } from './scenario.js';
import { playSideBySide } from './side-by-side.js';
import { storyOf } from './story.js';

type Many = Range & { readonly processes: number };

/** How often a line of progress is printed, in milliseconds. */
const PROGRESS_MS = 10_000;
/** Fewer executions say little about what one in a hundred reaches. */
const ENOUGH_FOR_COVERAGE = 5_000;

const ownHeap = (): number => process.memoryUsage().heapUsed;
const startedAt = process.hrtime.bigint();
const secondsSoFar = (): number => Number(process.hrtime.bigint() - startedAt) / 1e9;

const paceOf = (played: number): string => `${(played / secondsSoFar()).toFixed(0)} a second`;

/** Prints a line every few seconds. */
function progressOf(executions: number): (played: number, heapBytes?: number) => void {
  let nextLine = PROGRESS_MS / 1_000;

  return (played, heapBytes) => {
    if (secondsSoFar() < nextLine) return;

    nextLine = secondsSoFar() + PROGRESS_MS / 1_000;
    const heapMB = ((heapBytes ?? ownHeap()) / 1e6).toFixed(0);
    console.log(`${played} of ${executions} executions, ${paceOf(played)}, ${heapMB} MB on the heap`);
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

/** Plays them in this process, or in several others; the first failure, if there is one. */
async function playAll(campaign: Campaign, { processes, ...range }: Many): Promise<Failure | undefined> {
  const print = progressOf(range.executions);
  if (processes === 1) return campaign.run(range, print);

  const results = await playSideBySide({ range, processes }, print);
  for (const { counts } of results) campaign.coverage.addAll(counts);

  return results.find(({ failure }) => failure !== undefined)?.failure;
}

/** Whether everything holds, and what there is to reach was reached. */
async function playMany(campaign: Campaign, many: Many): Promise<boolean> {
  const { seed, executions } = many;
  if (!(await tell(campaign, await playAll(campaign, many)))) return false;

  const { lines, missed } = campaign.coverage;
  console.log('Of all executions, so many reached:');
  console.log(lines.join('\n'));
  console.log(`${executions} executions from seed ${seed} on, ${paceOf(executions)}. Everything holds.`);
  if (executions < ENOUGH_FOR_COVERAGE || missed.length === 0) return true;

  console.log(`Less than ${LEAST_PERCENT} % reached: ${missed.join(', ')}.`);
  return false;
}

const { scenario, ...many } = readOrExit(readCommandLine);
const campaign = await Campaign.open();
try {
  const holds = scenario === undefined ? await playMany(campaign, many) : await playScenario(campaign, scenario);
  if (!holds) process.exitCode = 1;
} finally {
  // A campaign listens to what nobody handles. So that an error of this program ends it, it has to be closed by then.
  campaign.close();
}

/** A process that plays some of the executions of another one, which it tells how far it is and what it has found. */
import { Campaign, type Range } from './campaign.js';
import { FAULTS } from './faults.js';
import type { InvariantId } from './invariants.js';
import type { Heard } from './side-by-side.js';

/** How many executions lie between two words of how far it is. */
const EXECUTIONS_PER_WORD = 100;

const tell = (heard: Heard): void => void process.send?.(heard);
// Whoever it plays for is gone.
process.on('disconnect', () => process.exit());

const [, , range, fault] = process.argv;
const campaign = await Campaign.open(fault === undefined ? undefined : FAULTS[fault as InvariantId]);
const failure = await campaign.run(JSON.parse(range as string) as Range, (played) => {
  if (played % EXECUTIONS_PER_WORD === 0) tell({ played, heapBytes: process.memoryUsage().heapUsed });
});
campaign.close();
tell({ counts: campaign.coverage.counts, failure });

import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Campaign } from './campaign.js';
import { LEAST_PERCENT } from './coverage.js';
import { storyOf } from './story.js';
/** How often a line of progress is printed, in milliseconds. */
const PROGRESS_MS = 10_000;
/** Fewer executions say little about what one in a hundred reaches. */
const ENOUGH_FOR_COVERAGE = 5_000;
const { values } = parseArgs({
    options: {
        executions: { type: 'string', default: '20000' },
        seed: { type: 'string', default: String(randomInt(1_000_000_000)) },
        scenario: { type: 'string' },
    },
});
function countIn(option, given, least) {
    const count = Number(given);
    if (Number.isInteger(count) && count >= least)
        return count;
    throw new TypeError(`--${option} ${given}: expected a whole number of at least ${least}.`);
}
const executions = countIn('executions', values.executions, 1);
const seed = countIn('seed', values.seed, 0);
const heap = () => `${(process.memoryUsage().heapUsed / 1e6).toFixed(0)} MB on the heap`;
const campaign = await Campaign.open();
const elapsed = process.hrtime.bigint();
const secondsSo = () => Number(process.hrtime.bigint() - elapsed) / 1e9;
let nextLine = PROGRESS_MS / 1_000;
function progress(played) {
    if (played % 100 !== 0 || secondsSo() < nextLine)
        return;
    nextLine = secondsSo() + PROGRESS_MS / 1_000;
    console.log(`${played} of ${executions} executions, ${(played / secondsSo()).toFixed(0)} a second, ${heap()}`);
}
/** A scenario itself, or the file that it is in. */
function scenarioIn(given) {
    return JSON.parse(given.startsWith('{') ? given : readFileSync(given, 'utf8'));
}
async function failureOf(given) {
    const scenario = scenarioIn(given);
    const { violations } = await campaign.play(scenario);
    return violations.length === 0 ? undefined : { seed: undefined, scenario, violations };
}
const failure = values.scenario === undefined ? await campaign.run({ seed, executions }, progress) : await failureOf(values.scenario);
if (failure !== undefined) {
    console.log(storyOf(await campaign.shrink(failure)));
    process.exitCode = 1;
}
else if (values.scenario !== undefined) {
    console.log('Everything holds.');
}
else {
    const { coverage } = campaign;
    console.log(coverage.lines.join('\n'));
    console.log(`${executions} executions from seed ${seed} on, ${(executions / secondsSo()).toFixed(0)} a second, ${heap()}. Everything holds.`);
    if (executions >= ENOUGH_FOR_COVERAGE && coverage.missed.length > 0) {
        console.log(`Less than ${LEAST_PERCENT} % reached: ${coverage.missed.join(', ')}.`);
        process.exitCode = 1;
    }
}
campaign.close();
//# sourceMappingURL=main.js.map
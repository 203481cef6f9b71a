import { BY_FILE } from './guarantees/index.js';
import type { Guarantee } from './guarantee.js';
import { INVARIANTS } from './random/invariants.js';
import { failures, summary, table, type LibraryResults } from './results.js';

/** After a build: runs all libraries, some of which ask for a newer Node than the one that tests run on. */
export const ON_NODE_24 =
  'npm ci --prefix tools/nodes && tools/nodes/node_modules/node-24/bin/node conformance/dist/main.js';

/** What was measured, with what, and when. */
export interface Measured {
  readonly guarantees: readonly Guarantee[];
  readonly results: readonly LibraryResults[];
  /** Of libraries that do not run here, a line each. */
  readonly absent: readonly string[];
  /** As in 2026-11-30. */
  readonly date: string;
}

/** The whole report. */
export function resultsPage({ guarantees, results, absent, date }: Measured): string {
  return [
    '# Conformance',
    '',
    `${guarantees.length} guarantees, each a scenario on a virtual clock, run on ${date} with Node ${process.versions.node}. "–" means that a library does not offer it. \`npm run conformance\` writes this page anew, on Node 24; on an older one it leaves out libraries that ask for a newer one, and leaves this page as it is. After \`npm run build\`, \`${ON_NODE_24}\` runs it there.`,
    '',
    table(guarantees, results),
    '',
    '## Why guarantees fail',
    '',
    'In brackets what a library was set up with: the documented options that were found to help. What was seen elsewhere was',
    'seen in a version of its time; verdicts are on the versions above.',
    '',
    failures(guarantees, results) || 'None does.',
    ...absent.map((line) => `\n${line}`),
    '',
  ].join('\n');
}

const SCENARIOS = '../conformance/src/guarantees';
const RANDOM = '../conformance/src/random';

/** Each guarantee, with the file in which its scenario is. */
export function guaranteesPage(byFile: Readonly<Record<string, readonly Guarantee[]>> = BY_FILE): string {
  const entries = Object.entries(byFile);
  const policies = [...new Set(entries.flatMap(([, guarantees]) => guarantees.map(({ policy }) => policy)))];

  return [
    '# Guarantees',
    '',
    'What the policies promise. Each sentence has a scenario, which the link leads to; there it stands under the name in',
    'brackets. The tests of this project run each of them against our policies, and against a variant of them that is wrong',
    'in this one thing, which the scenario has to find. [Comparison](comparison.md) says what other libraries do with them.',
    ...policies.flatMap((policy) => [
      '',
      `## ${policy.charAt(0).toUpperCase()}${policy.slice(1)}`,
      '',
      ...entries.flatMap(([file, guarantees]) =>
        guarantees
          .filter((guarantee) => guarantee.policy === policy)
          .map(({ sentence, id }) => `- ${sentence} ([\`${id}\`](${SCENARIOS}/${file}.ts))`),
      ),
    ]),
    '',
    '## In random executions',
    '',
    'Examples show what somebody has thought of. So stacks of policies, calls, aborts and clocks are drawn at random as well,',
    'and each of these sentences is held against a model after every turn of the event loop, in 20,000 executions whenever the',
    'tests run and in as many as `npm run soak -- executions` is asked for. For each of them an engine with a planted fault shows',
    'that it is found ([how](../CONTRIBUTING.md#random-executions)).',
    '',
    ...Object.entries(INVARIANTS).map(([id, sentence]) => `- ${sentence} ([\`${id}\`](${RANDOM}/invariants.ts))`),
    '',
  ].join('\n');
}

/** What other libraries were found to keep: nothing that was not measured. */
export function comparisonPage({ guarantees, results, absent, date }: Measured): string {
  return [
    '# Comparison',
    '',
    `Measured on ${date} with Node ${process.versions.node}: ${results.map(({ library }) => `${library.name} ${library.version}`).join('; ')}.`,
    '',
    'Each [guarantee](guarantees.md) is one scenario, the same for all: policies that are set up through the options that a',
    'library documents, a clock that moves only when told to, and a verdict. A cell says how many guarantees were held of',
    'those that the library offers. What it does not offer does not count against it: many of these are smaller on purpose.',
    'A library that has an error of its own for cancelled calls is not asked for the reason of its caller, one that takes no',
    'signal is not asked what it does with one, and one that shows no state of its breakers is not asked when that changes: what',
    'an adapter does in its place is no merit of the library.',
    '',
    summary(guarantees, results),
    '',
    'We chose the scenarios, so that ours holds them all says that our own tests pass, and no more. They are faults that were',
    'seen in applications and libraries, and one fault can fail several of them. None of them holds for a library that does',
    'nothing. Speed, size and ease of use were not measured here.',
    '',
    'Every single verdict, with the reason where one fails and the options that were set, is in',
    '[RESULTS.md](../conformance/RESULTS.md). `npm run conformance` runs them again, and on Node 24 writes both pages; RESULTS.md has',
    'the command for Node 20, on which some of the libraries do not run. If you know an option with which a library holds',
    'what it is said to fail, its adapter in `conformance/src/adapters` is the place for it.',
    ...absent.map((line) => `\n${line}`),
    '',
  ].join('\n');
}

import { writeFile } from 'node:fs/promises';
import { readOptions, readOrExit } from '../../tools/command-line/command-line.mjs';
import { GUARANTEES } from './guarantees/index.js';
import { absence, LIBRARIES } from './libraries.js';
import { comparisonPage, guaranteesPage, ON_NODE_24, resultsPage } from './pages.js';
import { resultsOf, type LibraryResults } from './results.js';

// Read before anything runs: of an option that is misspelt, nothing should be written.
const { values } = readOrExit(() => readOptions({ options: { 'dry-run': { type: 'boolean', default: false } } }));

const results: LibraryResults[] = [];
const absent: string[] = [];
for (const library of LIBRARIES) {
  const missing = absence(library);
  if (missing === undefined) results.push(await resultsOf(await library.load(), GUARANTEES));
  else absent.push(missing);
}

const date = new Date().toISOString().slice(0, 10);
const measured = { guarantees: GUARANTEES, results, absent, date };
const report = resultsPage(measured);
console.log(report);
if (!values['dry-run']) {
  await writeFile(new URL('../../docs/guarantees.md', import.meta.url), guaranteesPage());
  if (absent.length === 0) {
    await writeFile(new URL('../RESULTS.md', import.meta.url), report);
    await writeFile(new URL('../../docs/comparison.md', import.meta.url), comparisonPage(measured));
  } else {
    console.error(`RESULTS.md and docs/comparison.md stay as they are. Node 24 runs all libraries: ${ON_NODE_24}`);
  }
}

const ours = results.find(({ library }) => library.name === 'holdfast');
if (ours?.verdicts.every(({ kind }) => kind === 'holds') !== true) process.exitCode = 1;

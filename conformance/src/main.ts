import { writeFile } from 'node:fs/promises';
import { GUARANTEES } from './guarantees/index.js';
import { LIBRARIES } from './libraries.js';
import { reasons, resultsOf, table, type LibraryResults } from './results.js';

const RESULTS = new URL('../RESULTS.md', import.meta.url);

const results: LibraryResults[] = [];
const absent: string[] = [];
for (const { name, load } of LIBRARIES) {
  try {
    results.push(await resultsOf(await load(), GUARANTEES));
  } catch (error) {
    absent.push(`${name} does not run on Node ${process.versions.node}: ${String(error)}`);
  }
}

const text = [
  '# Conformance',
  '',
  `${GUARANTEES.length} guarantees, each a scenario on a virtual clock. Node ${process.versions.node}. "–" means that the library does not offer it.`,
  '',
  table(GUARANTEES, results),
  '',
  '## Why guarantees fail',
  '',
  reasons(GUARANTEES, results) || 'None does.',
  ...absent.map((line) => `\n${line}`),
  '',
].join('\n');
console.log(text);
if (!process.argv.includes('--dry-run')) await writeFile(RESULTS, text);

const ours = results.find(({ library }) => library.name === 'holdfast');
if (ours?.verdicts.every(({ kind }) => kind === 'holds') !== true) process.exitCode = 1;

// Removes what was built, so that no output of a renamed source is left to be published.
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { readOptions, readOrExit } from './command-line/command-line.mjs';
import { pathTo } from './readme.mjs';

readOrExit((args) => readOptions({ args: [...args], options: {} }));

const { workspaces } = JSON.parse(readFileSync(pathTo('package.json'), 'utf8'));
const built = [
  ...workspaces.map((/** @type {string} */ folder) => `${folder}/dist`),
  'packages/idempotency/proof/dist',
  '.cache',
];

await Promise.all(built.map((folder) => rm(pathTo(folder), { recursive: true, force: true })));

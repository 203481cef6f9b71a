// Long runs, each a program of its own: `npm run soak` for the one of pages, `npm run soak -- NAME` for another.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const AN_HOUR_S = '3600';
const TEN_MILLION = '10000000';
/** @type {Record<string, { file: string, args: string[] }>} */
const SOAKS = {
  page: { file: 'bench/dist/load/soak.js', args: [] },
  idempotency: { file: 'packages/idempotency/proof/dist/main.js', args: ['--seconds', AN_HOUR_S, '--times', '3'] },
  executions: {
    file: 'conformance/dist/random/main.js',
    args: ['--executions', TEN_MILLION, '--processes', String(availableParallelism())],
  },
};

const given = process.argv.slice(2);
if (given[0] === '--help') {
  console.log(`npm run soak -- NAME, which is one of ${Object.keys(SOAKS).join(', ')}; page when there is none.`);
  console.log(
    'What follows are options of that program, which says which it has when it gets one that it does not know.',
  );
  process.exit();
}

const name = given[0] === undefined || given[0].startsWith('-') ? 'page' : String(given.shift());
const soak = SOAKS[name];
if (soak === undefined) {
  console.error(`${name}: expected one of ${Object.keys(SOAKS).join(', ')}.`);
  process.exit(1);
}

const program = fileURLToPath(new URL(`../${soak.file}`, import.meta.url));
const { status } = spawnSync(process.execPath, [program, ...soak.args, ...given], { stdio: 'inherit' });
process.exitCode = status ?? 1;

// Changes one thing after the other in the engine's policies, deadline and sections, and looks whether a test notices.
// `npm run mutation` takes all of the files, `npm run mutation -- policies/retry.ts` some of them. With `--again` only those
// mutants run that the last report has no answer for; with `--judge` none, and the last report is judged anew.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { format } from 'prettier';
import { readOptions, readOrExit } from '../command-line/command-line.mjs';
import { pathTo } from '../readme.mjs';
import { LEAST_SCORE, answersOf, judge, mutantsOf, percentOf, scoreOf } from './mutants.mjs';
import { pageOf } from './results.mjs';

/**
 * @typedef {import('./mutants.mjs').Mutant} Mutant
 * @typedef {import('./mutants.mjs').Listed} Listed
 * @typedef {import('./mutants.mjs').ReportedMutant} ReportedMutant
 * @typedef {import('./results.mjs').Row} Row
 * @typedef {{ files: Record<string, { source: string, mutants: ReportedMutant[] }> }} Report
 */

const SOURCES = 'packages/holdfast/src/';
const SURVIVORS = pathTo('packages/holdfast/mutation/survivors.json');
const SCORES = pathTo('packages/holdfast/mutation/scores.json');
const PAGE = pathTo('packages/holdfast/mutation/RESULTS.md');
const REPORT = pathTo('.cache/mutation/report.json');
const LAST = pathTo('.cache/mutation/last.json');

/** Stryker needs this major version of Node, or a later one. */
const LEAST_NODE = 22;

const require = createRequire(import.meta.url);
const versionOf = (/** @type {string} */ name) => String(require(`${name}/package.json`).version);

/** @template T @param {string} path @returns {T} */
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** Paths within the engine's sources. */
function everyFile() {
  const within = (/** @type {string} */ folder) =>
    readdirSync(pathTo(`${SOURCES}${folder}`))
      .filter((name) => name.endsWith('.ts') && !/\.(test|model)\.ts$/.test(name))
      .map((name) => `${folder}/${name}`);

  return [...within('policies'), 'deadline.ts', 'deadline-headers.ts', ...within('sections')];
}

/**
 * @param {string[]} files
 * @param {boolean} again
 */
function mutate(files, again) {
  if (again) writeFileSync(LAST, JSON.stringify(answersOf(read(REPORT))));
  rmSync(REPORT, { force: true });
  const stryker = pathTo('node_modules/@stryker-mutator/core/bin/stryker.js');
  const paths = files.map((file) => `${SOURCES}${file}`).join(',');
  const options = ['--mutate', paths, ...(again ? ['--incremental', '--incrementalFile', LAST] : [])];
  spawnSync(process.execPath, [stryker, 'run', 'tools/mutation/stryker.config.mjs', ...options], {
    cwd: pathTo('.'),
    stdio: 'inherit',
  });
  if (!existsSync(REPORT)) throw new Error('Stryker has left no report: what it printed says why.');
}

/** @param {import('./mutants.mjs').Identity & { line?: number }} mutant */
function shown({ file, line, within, original, replacement }) {
  const place = line === undefined ? '' : `:${line}`;

  return `  ${SOURCES}${file}${place} in ${within}\n    - ${original}\n    + ${replacement}\n`;
}

/**
 * @param {string} title
 * @param {string[]} mutants
 */
function say(title, mutants) {
  if (mutants.length > 0) process.stdout.write(`${title}\n${mutants.join('')}`);
}

/**
 * @param {Mutant[]} mutants
 * @param {Listed[]} listed
 * @returns {boolean} Whether every survivor is listed and the score is high enough.
 */
function tell(mutants, listed) {
  const { unlisted, stale, timedOut, unknown } = judge(mutants, listed);
  const percent = percentOf([scoreOf(mutants, listed)]);
  say('Ran out of time (each should be a run that never ends):', timedOut.map(shown));
  say('Broke the tests outside of a test, and count as neither:', unknown.map(shown));
  say('Listed, but noticed by now or gone:', stale.map(shown));
  say('Survived, and not listed:', unlisted.map(shown));
  process.stdout.write(
    `${percent.toFixed(1)} % of ${mutants.length} mutants were noticed; at least ${LEAST_SCORE} % must be.\n`,
  );

  return unlisted.length === 0 && percent >= LEAST_SCORE;
}

/** @returns {Mutant[]} */
function mutantsOfReport() {
  /** @type {Report} */
  const { files } = read(REPORT);

  return Object.entries(files).flatMap(([path, reported]) => mutantsOf(path.slice(SOURCES.length), reported));
}

/**
 * Rows of files that have not run stay as they are, but for those of files that are no more.
 * @param {Mutant[]} mutants
 * @param {Listed[]} listed
 */
async function record(mutants, listed) {
  const versions = {
    node: process.versions.node,
    stryker: versionOf('@stryker-mutator/core'),
    vitest: versionOf('vitest'),
  };
  const date = new Date().toISOString().slice(0, 10);
  /** @type {Record<string, Row>} */
  const before = existsSync(SCORES) ? read(SCORES) : {};
  /** @type {Record<string, Row>} */
  const rows = {};
  for (const file of everyFile().sort()) {
    const own = mutants.filter((mutant) => mutant.file === file);
    if (own.length > 0) rows[file] = { ...scoreOf(own, listed), date, ...versions };
    else if (before[file] !== undefined) rows[file] = before[file];
  }

  writeFileSync(SCORES, `${JSON.stringify(rows, null, 2)}\n`);
  writeFileSync(PAGE, await format(pageOf(rows, listed), { parser: 'markdown', printWidth: 120 }));
}

function readCommandLine() {
  const { values, positionals } = readOptions({
    options: { again: { type: 'boolean', default: false }, judge: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const unknown = positionals.filter((file) => !existsSync(pathTo(`${SOURCES}${file}`)));
  if (unknown.length > 0) throw new TypeError(`${unknown.join(', ')}: expected files within ${SOURCES}.`);
  if ((values.again || values.judge) && !existsSync(REPORT)) {
    throw new TypeError(`--${values.again ? 'again' : 'judge'}: there is no last report. Run without it first.`);
  }

  return { files: positionals.length > 0 ? positionals : everyFile(), ...values };
}

/** Runs this program on a newer Node, one of `tools/nodes`. */
function runOnNewerNode() {
  const newer = pathTo('tools/nodes/node_modules/node-24/bin/node');
  if (existsSync(newer)) return spawnSync(newer, process.argv.slice(1), { stdio: 'inherit' }).status ?? 1;

  console.error(
    `Stryker needs Node ${LEAST_NODE} or newer: \`npm ci --prefix tools/nodes\` installs one beside this one.`,
  );
  return 1;
}

/** @param {ReturnType<typeof readCommandLine>} command */
async function main({ files, again, judge: judgesOnly }) {
  if (!judgesOnly) mutate(files, again);

  const mutants = mutantsOfReport();
  const ran = new Set(mutants.map(({ file }) => file));
  /** @type {Listed[]} */
  const listed = read(SURVIVORS);
  const ofThese = listed.filter(({ file }) => ran.has(file));
  await record(mutants, listed);
  if (!tell(mutants, ofThese)) process.exitCode = 1;
}

const command = readOrExit(readCommandLine);
if (Number.parseInt(process.versions.node) >= LEAST_NODE) await main(command);
else process.exitCode = runOnNewerNode();

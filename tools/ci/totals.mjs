// Adds up what the steps of `.ci/run` left behind: their exit codes, and vitest's reports of those that ran tests.
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The steps that run tests, and so must leave a report that counts some. */
const SUITES = /^(tests|node-\d+)$/;

/**
 * @typedef {object} Totals
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 */

/**
 * @typedef {object} Report The part of vitest's JSON report that is read here.
 * @property {{ status: string, assertionResults: { status: string }[] }[]} testResults
 */

/**
 * A file that failed outside its tests (it did not load, or a hook failed) counts as one failure.
 * @param {Report} report
 * @returns {Totals}
 */
export function totalsOf(report) {
  const totals = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report.testResults) {
    const failedBefore = totals.failed;
    for (const { status } of file.assertionResults) {
      if (status === 'passed') totals.passed++;
      else if (status === 'failed') totals.failed++;
      else totals.skipped++;
    }
    if (file.status === 'failed' && totals.failed === failedBefore) totals.failed++;
  }

  return totals;
}

/**
 * A step that fails without a failing test counts as one failure, and so does a suite that ran no test.
 * @param {{ name: string, code: number, report: Report | undefined }[]} steps
 * @returns {Totals}
 */
export function sum(steps) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { name, code, report } of steps) {
    const own = report === undefined ? { passed: 0, failed: 0, skipped: 0 } : totalsOf(report);
    const ranNothing = SUITES.test(name) && own.passed === 0;
    if (own.failed === 0 && (code !== 0 || ranNothing)) own.failed = 1;
    total.passed += own.passed;
    total.failed += own.failed;
    total.skipped += own.skipped;
  }

  return total;
}

/** @param {string} folder */
function readSteps(folder) {
  const lines = readFileSync(join(folder, 'steps.tsv'), 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [name = '', code = '1'] = line.split('\t');
    const path = join(folder, `${name}.json`);
    /** @type {Report | undefined} */
    const report = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
    return { name, code: Number(code), report };
  });
}

function main() {
  const steps = readSteps(process.argv[2] ?? '.cache/ci');
  const { passed, failed, skipped } = sum(steps);
  const broken = steps.filter(({ code }) => code !== 0).map(({ name }) => name);
  if (broken.length > 0) console.log(`\nfailed steps: ${broken.join(', ')}`);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed === 0 ? 0 : 1;
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) main();

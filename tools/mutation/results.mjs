// Writes what the runs have found, as a page.
import { percentOf } from './mutants.mjs';

/**
 * @typedef {import('./mutants.mjs').Listed} Listed
 * @typedef {import('./mutants.mjs').Score & { date: string, node: string, stryker: string, vitest: string }} Row
 */

/**
 * @param {Record<string, Row>} rows By file.
 * @param {Listed[]} listed
 * @returns {string}
 */
export function pageOf(rows, listed) {
  const files = Object.keys(rows).sort();
  const scores = files.map((file) => /** @type {Row} */ (rows[file]));

  return [
    '# Mutants',
    '',
    '`npm run mutation` writes this page: what becomes of the tests when one thing in a file is changed. A noticed mutant fails a',
    'test, or never ends; a listed one survives, for a reason given below. `CONTRIBUTING.md` says how to run it.',
    '',
    `It covers ${files.length} files of the engine: policies, deadlines and sections. Files that have no row are not mutated.`,
    '',
    table(
      ['File', 'Score', 'Mutants', 'Noticed', 'of these endless', 'Listed', 'Unlisted', 'Date'],
      [
        ...files.map((file, at) => rowOf(`\`${file}\``, [/** @type {Row} */ (scores[at])], scores[at]?.date ?? '')),
        rowOf('all', scores, ''),
      ],
    ),
    '',
    `Each row is of the last run of its file: ${versionsOf(scores)}.`,
    '',
    '## Listed survivors',
    '',
    'What a caller gets is the same with each of these. Some take more memory or time, where the reason says so.',
    '',
    ...files.flatMap((file) => sectionOf(file, listed)),
  ].join('\n');
}

/** @param {Row[]} scores */
function versionsOf(scores) {
  const texts = scores.map(({ node, stryker, vitest }) => `Node ${node}, Stryker ${stryker} and Vitest ${vitest}`);
  const filesWith = (/** @type {string} */ text) => texts.filter((each) => each === text).length;

  return [...new Set(texts)].map((text) => `${filesWith(text)} with ${text}`).join('; ');
}

/**
 * @param {string} title
 * @param {Row[]} scores
 * @param {string} date
 */
function rowOf(title, scores, date) {
  const sum = (/** @type {'noticed' | 'timedOut' | 'listed' | 'unlisted'} */ field) =>
    scores.reduce((total, score) => total + score[field], 0);
  const all = sum('noticed') + sum('listed') + sum('unlisted');

  return [
    title,
    `${percentOf(scores).toFixed(1)} %`,
    all,
    sum('noticed'),
    sum('timedOut'),
    sum('listed'),
    sum('unlisted'),
    date,
  ];
}

/**
 * @param {string[]} head
 * @param {(string | number)[][]} rows
 */
function table(head, rows) {
  const line = (/** @type {(string | number)[]} */ cells) => `| ${cells.join(' | ')} |`;

  return [line(head), line(head.map((_, at) => (at === 0 ? '---' : '--:'))), ...rows.map(line)].join('\n');
}

/**
 * @param {string} file
 * @param {Listed[]} listed
 */
function sectionOf(file, listed) {
  const own = listed.filter((entry) => entry.file === file);
  if (own.length === 0) return [];

  return [`### \`${file}\``, '', ...own.map(itemOf), ''];
}

/** @param {Listed} entry */
function itemOf({ within, original, replacement, nth, reason }) {
  const which = nth === undefined ? '' : ` (number ${nth} of its kind)`;

  return `- \`${within}\`${which}: ${code(original)} as ${code(replacement)}. ${reason}`;
}

/** @param {string} text */
function code(text) {
  const flat = text.replace(/\s+/g, ' ').trim();
  const fence = flat.includes('`') ? '``' : '`';

  return flat === '' ? 'nothing' : `${fence}${flat}${fence}`;
}

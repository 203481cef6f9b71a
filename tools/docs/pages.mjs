// Reads the documentation: its pages, their fenced blocks and tables, and the files that they show.
import { readdirSync, readFileSync } from 'node:fs';
import { pathTo } from '../readme.mjs';

/**
 * @typedef {object} Block A fenced block.
 * @property {string} language What stands after the opening fence.
 * @property {string} content
 * @property {string | undefined} source What the marker above names: `path` or `path#region`.
 * @property {number} line Where it begins in its page, from 1.
 */

/**
 * @typedef {object} Table A table with a marker above.
 * @property {string} name
 * @property {Record<string, string>[]} rows The cells by the heading of their column.
 */

/** @returns {string[]} The paths of all pages within the repository. */
export function pages() {
  const names = readdirSync(pathTo('docs')).filter((name) => name.endsWith('.md'));

  return ['README.md', ...names.toSorted().map((name) => `docs/${name}`)];
}

/** @param {string} path A path within the repository. */
export function read(path) {
  return readFileSync(pathTo(path), 'utf8');
}

// The marker, the opening fence with its language, the content, the closing fence.
const BLOCK = /^(?:<!-- snippet: (\S+) -->\n+)?```(\w*)\n(.*?)^```$/gms;

/**
 * @param {string} text
 * @returns {Block[]}
 */
export function blocksOf(text) {
  return [...text.matchAll(BLOCK)].map(({ 1: source, 2: language = '', 3: content = '', index }) => {
    return { source, language, content, line: text.slice(0, index).split('\n').length };
  });
}

/**
 * The page with every marked block as its source says.
 * @param {string} text
 */
export function synchronized(text) {
  return text.replaceAll(BLOCK, (whole, /** @type {string | undefined} */ source, /** @type {string} */ language) => {
    return source === undefined ? whole : `<!-- snippet: ${source} -->\n\n\`\`\`${language}\n${snippet(source)}\`\`\``;
  });
}

/**
 * What a marker names.
 * @param {string} source
 */
export function snippet(source) {
  const [path = '', region] = source.split('#');
  const text = read(path);

  return region === undefined ? text : regionOf(text, region, path);
}

/**
 * The names of the regions of a file.
 * @param {string} text
 */
export function regionsIn(text) {
  return [...text.matchAll(/^ *\/\/ #region (\S+)$/gm)].map((match) => match[1] ?? '');
}

/**
 * The lines of a region as if they stood alone: without the indentation that they share, and without markers.
 * @param {string} text
 * @param {string} name
 * @param {string} path
 */
function regionOf(text, name, path) {
  /** @type {string[]} */
  const lines = [];
  let depth = 0;
  for (const line of text.split('\n')) {
    const begins = /^ *\/\/ #region (\S+)$/.exec(line)?.[1];
    if (begins === name || (begins !== undefined && depth > 0)) depth += 1;
    else if (/^ *\/\/ #endregion$/.test(line) && depth > 0) depth -= 1;
    else if (depth > 0) lines.push(line);
    if (depth === 0 && lines.length > 0) return dedented(lines);
  }

  throw new Error(`${path} has no region "${name}" with an end. It has: ${regionsIn(text).join(', ') || '(none)'}`);
}

/** @param {string[]} lines */
function dedented(lines) {
  const indents = lines.filter((line) => line !== '').map((line) => line.search(/\S/));
  const shared = Math.min(...indents);

  return `${lines
    .map((line) => line.slice(shared))
    .join('\n')
    .trim()}\n`;
}

// The marker, the line of headings, the line of dashes, the rows.
const TABLE = /^<!-- table: (.+?) -->\n+(\|.*\|)\n\|[-| :]+\|\n((?:\|.*\|\n)*)/gm;

/**
 * @param {string} text
 * @returns {Table[]}
 */
export function tablesOf(text) {
  return [...text.matchAll(TABLE)].map(({ 1: name = '', 2: headings = '', 3: lines = '' }) => {
    const columns = cellsOf(headings);
    const rows = lines
      .trimEnd()
      .split('\n')
      .map((line) => Object.fromEntries(cellsOf(line).map((cell, index) => [columns[index] ?? '', cell])));

    return { name, rows };
  });
}

/** @param {string} line */
function cellsOf(line) {
  // A bar inside a cell is written with a backslash.
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

// What Stryker's report says of each mutant, held against the survivors that are listed as no caller's business.
import ts from 'typescript';

/** The least share of mutants that tests must notice, in percent. */
export const LEAST_SCORE = 90;

/** Statuses of a mutant that a test has noticed: a run that never ends is one. */
const NOTICED = ['Killed', 'Timeout'];
const UNNOTICED = ['Survived', 'NoCoverage'];
/** A mutant with which the tests ran, but broke outside of any test: nobody knows which. */
const UNKNOWN = ['RuntimeError'];

/**
 * @typedef {object} Position Counted from 1.
 * @property {number} line
 * @property {number} column
 */

/**
 * @typedef {object} ReportedMutant The part of Stryker's report that is read here.
 * @property {string} status
 * @property {string} [replacement]
 * @property {{ start: Position, end: Position }} location
 */

/**
 * @typedef {object} Identity What a mutant is known by, however many lines are added above it.
 * @property {string} file
 * @property {string} within The named functions and classes around it, from the outermost on.
 * @property {string} original
 * @property {string} replacement
 * @property {number} [nth] Which of those that are alike in all of this, from 1; absent where there is one.
 */

/** @typedef {Identity & { status: string, line: number }} Mutant */
/** @typedef {Identity & { reason: string }} Listed */

/**
 * @typedef {object} Verdict
 * @property {Mutant[]} unlisted Survivors that nothing explains.
 * @property {Listed[]} stale Listed survivors that a test notices by now, or that exist no more.
 * @property {Mutant[]} timedOut Taken for noticed; each should be a run that never ends.
 * @property {Mutant[]} unknown Mutants that count as neither.
 */

/**
 * @typedef {object} Score
 * @property {number} noticed
 * @property {number} timedOut How many of the noticed ones ran out of time.
 * @property {number} listed
 * @property {number} unlisted
 */

/**
 * The mutants of a file, each with its identity.
 * @param {string} file
 * @param {{ source: string, mutants: ReportedMutant[] }} reported
 * @returns {Mutant[]}
 */
export function mutantsOf(file, { source, mutants }) {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const offset = (/** @type {Position} */ { line, column }) =>
    ts.getPositionOfLineAndCharacter(tree, line - 1, column - 1);
  const ran = mutants.filter(({ status }) => [...NOTICED, ...UNNOTICED, ...UNKNOWN].includes(status));
  const inOrder = ran.toSorted((a, b) => offset(a.location.start) - offset(b.location.start));

  return numbered(
    inOrder.map(({ status, replacement = '', location }) => {
      const start = offset(location.start);
      const end = offset(location.end);
      const within = namesAround(tree, start, end).join('.');
      return { file, within, original: source.slice(start, end), replacement, status, line: location.start.line };
    }),
  );
}

/**
 * A report as far as it has answers. A survivor is none: whether a test that was added since runs a constant, Stryker
 * does not know, and would let it stand as it was.
 * @template {{ files: Record<string, { mutants: ReportedMutant[] }> }} R
 * @param {R} report
 * @returns {R}
 */
export function answersOf(report) {
  const files = Object.entries(report.files).map(([path, file]) => {
    return [path, { ...file, mutants: file.mutants.filter(({ status }) => NOTICED.includes(status)) }];
  });

  return { ...report, files: Object.fromEntries(files) };
}

/**
 * @template {Identity} M
 * @param {M[]} mutants In the order of the source.
 * @returns {M[]}
 */
function numbered(mutants) {
  /** @type {Map<string, M[]>} */
  const alike = new Map();
  for (const mutant of mutants) alike.set(key(mutant), [...(alike.get(key(mutant)) ?? []), mutant]);

  return mutants.map((mutant) => {
    const twins = alike.get(key(mutant)) ?? [];

    return twins.length === 1 ? mutant : { ...mutant, nth: twins.indexOf(mutant) + 1 };
  });
}

/** @param {Identity} identity */
function key({ file, within, original, replacement, nth }) {
  return JSON.stringify([file, within, original, replacement, nth]);
}

/**
 * @param {ts.Node} node
 * @param {number} start
 * @param {number} end
 * @returns {string[]}
 */
function namesAround(node, start, end) {
  const inner = ts.forEachChild(node, (child) =>
    child.getStart() <= start && end <= child.getEnd() ? namesAround(child, start, end) : undefined,
  );
  const name = nameOf(node);

  return name === undefined ? (inner ?? []) : [name, ...(inner ?? [])];
}

/** @param {ts.Node} node */
function nameOf(node) {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  const names =
    ts.isClassLike(node) ||
    ts.isFunctionLike(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isPropertyDeclaration(node) ||
    ts.isPropertyAssignment(node);

  // A pattern that takes an object apart names nothing by itself.
  const { name } = names ? node : { name: undefined };
  if (name === undefined || ts.isObjectBindingPattern(name) || ts.isArrayBindingPattern(name)) return undefined;

  return name.getText();
}

/**
 * @param {Mutant[]} mutants All of the files that were mutated.
 * @param {Listed[]} listed Those of the same files.
 * @returns {Verdict}
 */
export function judge(mutants, listed) {
  const survivors = mutants.filter(({ status }) => UNNOTICED.includes(status));
  const known = new Set(listed.map(key));
  const alive = new Set(survivors.map(key));

  return {
    unlisted: survivors.filter((mutant) => !known.has(key(mutant))),
    stale: listed.filter((entry) => !alive.has(key(entry))),
    timedOut: mutants.filter(({ status }) => status === 'Timeout'),
    unknown: mutants.filter(({ status }) => UNKNOWN.includes(status)),
  };
}

/**
 * @param {Mutant[]} mutants
 * @param {Listed[]} listed
 * @returns {Score}
 */
export function scoreOf(mutants, listed) {
  const { unlisted, timedOut, unknown } = judge(mutants, listed);
  const noticed = mutants.filter(({ status }) => NOTICED.includes(status)).length;

  return {
    noticed,
    timedOut: timedOut.length,
    listed: mutants.length - noticed - unlisted.length - unknown.length,
    unlisted: unlisted.length,
  };
}

/**
 * The noticed mutants, in percent of all: a listed survivor is one that was not noticed.
 * @param {Score[]} scores
 */
export function percentOf(scores) {
  const noticed = scores.reduce((sum, score) => sum + score.noticed, 0);
  const all = scores.reduce((sum, score) => sum + score.noticed + score.listed + score.unlisted, 0);

  return all === 0 ? 100 : (100 * noticed) / all;
}

import type { DegradedSection } from './degraded.js';
import { OptionError, rejectUnknown, requireName, requireObject, show } from '../options.js';
import { ALL_SECTIONS, requireSectionName } from './section-name.js';

export interface DegradedHeadersOptions {
  /** The header that lists what is missing. Default `'x-degraded'`. */
  readonly name?: string | undefined;
  /** What caches are told. Default `'no-store'`. */
  readonly cacheControl?: string | undefined;
}

/**
 * Validators let a cache revive what it has. The others speak to some caches only, which heed them in place of
 * `Cache-Control`: old ones, Fastly's and Varnish's, Akamai's, nginx's.
 */
const OF_WHOLE_ANSWERS: ReadonlySet<string> = new Set([
  'etag',
  'last-modified',
  'expires',
  'surrogate-control',
  'edge-control',
  'x-accel-expires',
]);

/** What RFC 9213 calls targeted: `CDN-Cache-Control`, and one for each network that wants its own. */
const TARGETED = /.-cache-control$/;

/**
 * Whether a cache keeps, or revives, by a header of this name what it must not keep of a degraded answer: validators,
 * `Expires`, `Surrogate-Control`, `Edge-Control`, `X-Accel-Expires`, and every `…-Cache-Control`. Whoever passes headers
 * of another answer on removes those, in any case of letters; `Cache-Control` itself is replaced.
 */
export function isHeaderOfWholeAnswers(name: string): boolean {
  const lowered = name.toLowerCase();

  return OF_WHOLE_ANSWERS.has(lowered) || TARGETED.test(lowered);
}

/** What else an answer says beside its sections. */
const TAKEN: readonly string[] = ['cache-control', 'server-timing'];

/**
 * Lets no header list what is missing whose name means something else in an answer.
 *
 * @throws TypeError naming the option, which is at `path`.
 */
export function refuseTakenHeader(name: string, path: string): void {
  const isTaken = isHeaderOfWholeAnswers(name) || TAKEN.includes(name.toLowerCase());
  if (isTaken) throw new OptionError(path, `${show(name)} means something else in an answer. Use 'x-degraded'.`);
}

/** Servers and proxies refuse headers from 8 kB on, all of an answer's together. */
const LONGEST_LIST = 2_048;

/**
 * The headers that mark an answer as degraded, such as `x-degraded: reviews=upstream_timeout;300`; none when it is
 * whole. A list of more than 2,048 characters ends with how many sections it leaves out: `*=more;12`.
 *
 * @throws TypeError naming the option.
 */
export function degradedHeaders(
  degraded: readonly DegradedSection[],
  options: DegradedHeadersOptions = {},
): Record<string, string> {
  if (!Array.isArray(degraded)) {
    throw new OptionError('degraded', `expected an array, got ${show(degraded)}. Pass the degraded of the answer.`);
  }
  requireObject(options, '', "Use { name: 'x-degraded' }.");
  rejectUnknown(options, ['name', 'cacheControl']);
  const { name = 'x-degraded', cacheControl = 'no-store' } = options;
  requireSectionName(name, 'name');
  refuseTakenHeader(name, 'name');
  requireFieldValue(cacheControl, 'cacheControl');
  if (degraded.length === 0) return {};

  return { [name]: listOf(degraded), 'cache-control': cacheControl };
}

/** Visible characters, with blanks between them: what is no more, with a line break in it, would be a header of its own. */
const FIELD_VALUE = /^[!-~]+(?:[ \t]+[!-~]+)*$/;

function requireFieldValue(given: unknown, path: string): void {
  const value = requireName(given, path);
  if (!FIELD_VALUE.test(value)) throw new OptionError(path, `${show(value)} can stand in no header. Use 'no-store'.`);
}

const SEPARATOR = ', ';
const LEFT_OUT = `${ALL_SECTIONS}=more;`;

function listOf(degraded: readonly DegradedSection[]): string {
  return bounded(degraded.map(({ section, reason, waitedMs }) => `${section}=${reason};${waitedMs}`));
}

/** The lists of several answers that leave as one, as bounded as that of each. */
export function joinLists(lists: readonly string[]): string {
  const entries = lists.flatMap((list) => list.split(SEPARATOR));
  const isCount = (entry: string): boolean => entry.startsWith(LEFT_OUT);
  const leftOut = entries.filter(isCount).map((entry) => Number(entry.slice(LEFT_OUT.length)));

  return bounded(
    entries.filter((entry) => !isCount(entry)),
    leftOut.reduce((sum, count) => sum + count, 0),
  );
}

/** @param leftOut How many more there would be. */
function bounded(entries: readonly string[], leftOut = 0): string {
  let list = '';
  for (const [at, entry] of entries.entries()) {
    const next = `${at === 0 ? '' : SEPARATOR}${entry}`;
    if (list.length + next.length > LONGEST_LIST) return withCount(list, entries.length - at + leftOut);

    list += next;
  }

  return leftOut === 0 ? list : withCount(list, leftOut);
}

function withCount(list: string, leftOut: number): string {
  return `${list}${list === '' ? '' : SEPARATOR}${LEFT_OUT}${leftOut}`;
}

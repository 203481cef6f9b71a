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
 * Headers with which a cache keeps, or revives, what it must not keep of a degraded answer. Whoever passes headers of
 * another answer on removes them.
 */
export const HEADERS_OF_WHOLE_ANSWERS: readonly string[] = [
  'etag',
  'last-modified',
  'cdn-cache-control',
  'surrogate-control',
];

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
  requireName(cacheControl, 'cacheControl');
  if (degraded.length === 0) return {};

  return { [name]: listOf(degraded), 'cache-control': cacheControl };
}

function listOf(degraded: readonly DegradedSection[]): string {
  let list = '';
  for (const [at, { section, reason, waitedMs }] of degraded.entries()) {
    const separator = at === 0 ? '' : ', ';
    const entry = `${separator}${section}=${reason};${waitedMs}`;
    if (list.length + entry.length > LONGEST_LIST) {
      return `${list}${separator}${ALL_SECTIONS}=more;${degraded.length - at}`;
    }
    list += entry;
  }

  return list;
}

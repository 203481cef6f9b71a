/** What an HTTP request says about what it is for. */
export interface HttpTarget {
  /** Any case. */
  readonly method: string;
  /** The `Host` header or `:authority`. */
  readonly host?: string | undefined;
  /** The request target as it was received: `/path?query`, `http://host/path?query` or `*`. */
  readonly url: string;
  /** The version of the API that was asked for, wherever it stands. */
  readonly version?: string | undefined;
}

const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/** `tag[]`, `tag[0]`, `tag[][id]` and `tag` are one list for many a parser of queries, in the order in which they come. */
const LIST_INDEX = /\[\d*\].*$/s;

/**
 * The parts that make a request what it is: `http`, method, host, path, query and version.
 *
 * Percent-encodings are written as RFC 3986, section 6.2.2, has them: in upper case, and not at all for letters, digits,
 * `-`, `.`, `_` and `~`. Everything else in path and query is kept as it came, dot segments and `+` included, since
 * routers and handlers see it. The order of the query's parameters does not count; those of one name, and those
 * of one list, keep their order among themselves. A default port, an empty query and a fragment say nothing. The host of a
 * target in absolute form goes before the header (RFC 9112, section 3.2.2), without user information.
 */
export function httpIdentity(request: HttpTarget): readonly string[] {
  const authority = ABSOLUTE_FORM.exec(request.url);
  const target = authority === null ? request.url : request.url.slice(authority[0].length);
  const [, path = '', query = ''] = /^([^?#]*)(?:\?([^#]*))?/.exec(target) ?? [];
  const host = authority === null ? request.host : authority[1];

  return [
    'http',
    request.method.toUpperCase(),
    hostName(host ?? ''),
    path === '' ? '/' : normalEncoding(path),
    sortedQuery(query),
    request.version ?? '',
  ];
}

function hostName(authority: string): string {
  return authority
    .slice(authority.lastIndexOf('@') + 1)
    .toLowerCase()
    .replace(/:(?:80|443)?$/, '');
}

function normalEncoding(text: string): string {
  if (!text.includes('%')) return text;

  return text.replace(/%[0-9a-f]{2}/gi, (octet) => {
    const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16));
    return UNRESERVED.test(character) ? character : octet.toUpperCase();
  });
}

function sortedQuery(query: string): string {
  if (!query.includes('&')) return normalEncoding(query);

  return normalEncoding(query)
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => ({ pair, name: nameOf(pair) }))
    .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
    .map(({ pair }) => pair)
    .join('&');
}

function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1);

  return decoded(name).replace(LIST_INDEX, '');
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}

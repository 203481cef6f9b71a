/** The paths of an edge function, as Netlify reads them: `*` at the end stands for any rest. */
export interface Paths {
  readonly path: string;
  readonly excludedPath: readonly string[];
}

/** Servers differ in how they read these escapes, so a path that has some of them is never excluded from a gate. */
const AMBIGUOUS = /%(2e|2f|5c)/i;

/** Where a request goes: through the function, past it, or nowhere since it is none of its paths. */
export function routeOf(pathname: string, { path, excludedPath }: Paths): 'through' | 'past' | 'nowhere' {
  if (!matches(pathname, path)) return 'nowhere';
  if (AMBIGUOUS.test(pathname)) return 'through';

  return excludedPath.some((pattern) => matches(pathname, pattern)) ? 'past' : 'through';
}

function matches(pathname: string, pattern: string): boolean {
  return pattern.endsWith('*') ? pathname.startsWith(pattern.slice(0, -1)) : pathname === pattern;
}

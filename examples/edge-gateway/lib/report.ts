import { degradedHeaders, HEADERS_OF_WHOLE_ANSWERS, type DegradedSection } from 'holdfast';

export { reportTimeout, type TimeoutEvent } from 'holdfast/fetch';

const HEADER = 'x-edge-degraded';

// #region headers
/** Marks an answer as degraded, and takes from it what would let a cache keep or revive it. */
export function applyTimeoutHeaders(headers: Headers, degraded: readonly DegradedSection[]): void {
  if (degraded.length === 0) return;

  for (const name of [...headers.keys()].filter(speaksToCaches)) headers.delete(name);
  for (const [name, value] of Object.entries(degradedHeaders(degraded, { name: HEADER }))) headers.set(name, value);
}

/** Each network has a header of its own beside the common ones: `netlify-cdn-cache-control`, `cdn-tag`. */
function speaksToCaches(name: string): boolean {
  return HEADERS_OF_WHOLE_ANSWERS.includes(name) || name.startsWith('cdn-') || name.endsWith('-cdn-cache-control');
}
// #endregion

import { degradedHeaders, isHeaderOfWholeAnswers, type DegradedSection } from 'holdfast';

export { reportTimeout, type TimeoutEvent } from 'holdfast/fetch';

const HEADER = 'x-edge-degraded';

// #region headers
/** Marks an answer as degraded, and takes from it what would let a cache keep or revive it. */
export function applyTimeoutHeaders(headers: Headers, degraded: readonly DegradedSection[]): void {
  if (degraded.length === 0) return;

  for (const name of [...headers.keys()].filter(isHeaderOfWholeAnswers)) headers.delete(name);
  for (const [name, value] of Object.entries(degradedHeaders(degraded, { name: HEADER }))) headers.set(name, value);
}
// #endregion

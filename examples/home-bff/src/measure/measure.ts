import { measureGivenUpWork } from './given-up-work.js';
import { measureHomePages } from './home-pages.js';
import { measurePlainCalls } from './plain-calls.js';
import type { Row, Tolerance } from './row.js';

/** The eight rows, one after the other: side by side they would slow each other down. Takes about eight seconds. */
export async function measure(tolerance: Tolerance): Promise<readonly Row[]> {
  const plain = await measurePlainCalls(tolerance);
  const pages = await measureHomePages(tolerance);

  return [...plain, ...pages, ...(await measureGivenUpWork())];
}

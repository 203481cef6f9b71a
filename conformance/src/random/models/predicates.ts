import type { Outcome } from '../run.js';
import type { Predicate } from '../scenario.js';
import { shapeOf } from '../watch.js';

/** What predicates throw that have an error of their own. */
export const FLAW = 'an error of the predicate';

/** Whether an outcome is that error. */
export function isFlaw({ ok, value }: Outcome): boolean {
  return !ok && value instanceof Error && value.message === FLAW;
}

/** What a predicate says of an error; that of the default is that the dependency is to blame. */
export function says(predicate: Predicate, error: unknown): boolean {
  return predicate === 'yes' || (predicate !== 'no' && shapeOf(error).status !== 404);
}

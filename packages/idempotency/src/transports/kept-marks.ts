import type { DegradedMarks } from 'holdfast/nest';
import type { IdempotencyStoredResponse } from '../store.js';

/** What says of an answer that something is missing, as it is kept with it: nothing of one that is whole. */
export function keptMarks(marks: DegradedMarks | undefined): Pick<IdempotencyStoredResponse, 'degraded'> {
  if (marks === undefined) return {};

  return { degraded: Object.fromEntries(Object.entries(marks).map(([name, mark]) => [name.toLowerCase(), mark])) };
}

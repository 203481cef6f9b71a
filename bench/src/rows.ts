import type { Row } from './row.js';
import { NEST_ROWS, PAGE_ROWS } from './rows/applications.js';
import { GROWTH_ROWS, SECTION_ROWS } from './rows/growth.js';
import { IDEMPOTENCY_ROWS } from './rows/idempotency.js';
import { LIBRARY_ROWS, MEMORY_ROWS, POLICY_ROWS, REFUSAL_ROWS } from './rows/policies.js';

/** Rows that a report shows together. */
export interface Group {
  readonly title: string;
  readonly rows: readonly Row[];
}

export const GROUPS: readonly Group[] = [
  { title: 'Policies', rows: POLICY_ROWS },
  { title: 'Refusals', rows: REFUSAL_ROWS },
  { title: 'Other libraries', rows: LIBRARY_ROWS },
  { title: 'Memory', rows: MEMORY_ROWS },
  { title: 'Sections', rows: SECTION_ROWS },
  { title: 'Growth', rows: GROWTH_ROWS },
  { title: 'NestJS', rows: NEST_ROWS },
  { title: 'Idempotency', rows: IDEMPOTENCY_ROWS },
  { title: 'A page under load', rows: PAGE_ROWS },
];

export const ROWS: readonly Row[] = GROUPS.flatMap(({ rows }) => rows);

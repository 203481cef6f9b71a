import { kindOf, OptionError } from 'holdfast/binding';

/**
 * What runs SQL: a `Pool`, a `PoolClient` or a `Client` of `pg`, a `PGlite` or a transaction of it, or what looks like
 * them. Of an answer only `rows` is read, and of its columns only text, so that type parsers do not matter.
 */
export interface PostgresQueryable {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** A row of the store's own statements, in which every column is text. */
export type TextRow = Readonly<Record<string, string | null>>;

/** Runs one statement. */
export type Run = (text: string, values?: readonly unknown[]) => Promise<readonly TextRow[]>;

/** The statement has changed nothing, and may well succeed when it is sent again: serialization failure, deadlock. */
const PASSING = new Set(['40001', '40P01']);

const TRIES = 12;
const LONGEST_PAUSE_MS = 64;

/** @throws TypeError when it cannot run SQL. */
export function requireQueryable(value: unknown, path: string): PostgresQueryable {
  const isObject = typeof value === 'object' && value !== null;
  if (isObject && typeof (value as Partial<PostgresQueryable>).query === 'function') return value as PostgresQueryable;

  throw new OptionError(
    path,
    `expected an object with query(text, values), such as a Pool of pg or a PGlite, got ${kindOf(value)}.`,
  );
}

/** Runs statements on a connection whose transaction belongs to somebody else: what fails there, fails there. */
export function runOn(target: PostgresQueryable): Run {
  return async (text, values = []) => {
    const answer: unknown = await target.query(text, [...values]);
    const rows = (answer as { readonly rows?: unknown } | null | undefined)?.rows;
    if (Array.isArray(rows)) return rows as TextRow[];

    throw new TypeError(`query() answered with ${kindOf(answer)}. Expected an object with rows, as pg answers.`);
  };
}

/** Runs each statement as a transaction of its own, again where the isolation level of the session has made it fail. */
export function runInsistently(target: PostgresQueryable): Run {
  const run = runOn(target);

  return async (text, values) => {
    for (let failed = 1; ; failed += 1) {
      try {
        return await run(text, values);
      } catch (error) {
        if (failed === TRIES || !PASSING.has(sqlStateOf(error))) throw error;
      }
      await pauseAfter(failed);
    }
  };
}

function sqlStateOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;

  return typeof code === 'string' ? code : '';
}

/** Those who met each other do not meet again. */
function pauseAfter(failed: number): Promise<void> {
  const longest = Math.min(2 ** failed, LONGEST_PAUSE_MS);

  return new Promise((resolve) => setTimeout(resolve, Math.random() * longest));
}

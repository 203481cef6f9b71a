import { COLUMNS, idempotencySchema, namesOf, type IdempotencyTableOptions, type TableNames } from './table.js';
import type { Run, TextRow } from './queryable.js';

/** Any number does, as long as all processes take the same. */
const SETUP_LOCK = 4_611_686_018_427;

/** A statement that is run inside of another one ends here. No name of a table can hold it. */
const QUOTE = '$schema$';

/**
 * Makes the table and its index where they are missing. Of processes that start at the same moment, one does it while
 * the others wait. Where both are there, no lock is taken: `CREATE INDEX IF NOT EXISTS` would wait for every transaction
 * that has written to the table, and hold up all others meanwhile.
 */
export async function ensureSchema(run: Run, options: IdempotencyTableOptions): Promise<void> {
  const names = namesOf(options);
  let found = await look(run, names);
  if (!isComplete(found)) {
    await run(
      `DO ${QUOTE} BEGIN PERFORM pg_advisory_xact_lock(${SETUP_LOCK}); ${idempotencySchema(options)} END ${QUOTE}`,
    );
    found = await look(run, names);
  }
  requireColumns(found, names);
}

/** Which columns there are, and whether an index begins with the time of expiry, by whatever name. */
async function look(run: Run, { table }: TableNames): Promise<TextRow> {
  const [row] = await run(
    `SELECT
  current_setting('server_encoding') AS encoding,
  (SELECT string_agg(attname::text, ' ') FROM pg_attribute
    WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped) AS columns,
  (SELECT 'yes' FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
    WHERE indrelid = to_regclass($1) AND attname = 'expires_at' LIMIT 1) AS indexed`,
    [table],
  );

  return row ?? {};
}

function isComplete({ columns, indexed }: TextRow): boolean {
  return typeof columns === 'string' && indexed === 'yes';
}

function requireColumns({ columns, encoding }: TextRow, { table }: TableNames): void {
  const present = new Set(columns?.split(' '));
  const missing = COLUMNS.filter((column) => !present.has(column));
  if (missing.length > 0) {
    throw new Error(
      `The table ${table} is not one of idempotency keys: it lacks ${missing.join(', ')}. ` +
        'Give the store another name with the option "table", or migrate that table to idempotencySchema().',
    );
  }
  // What has no place in another encoding would be refused when the answer is stored: after the work is done.
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return;

  throw new Error(`The database has the encoding ${encoding}. Answers may hold any character: use one with UTF8.`);
}

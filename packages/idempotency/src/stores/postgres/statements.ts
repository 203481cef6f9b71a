import type { TableNames } from './table.js';

/** The SQL of one table. All columns that come back are text. */
export interface Statements {
  /** $1 hash, $2 key, $3 fingerprint, $4 owner, $5 lockTtl. No row: somebody else has come in between. */
  readonly take: string;
  /** As `take`, and $6 a text that nobody else has. Always one row. */
  readonly settle: string;
  /** $1 hash, $2 owner, $3 response, $4 ttl. One row for each record that was written, as from here on. */
  readonly complete: string;
  /** $1 hash, $2 owner, $3 lockTtl. */
  readonly extend: string;
  /** $1 hash, $2 owner. */
  readonly release: string;
  /** $1 the most to delete. One row, with their number. */
  readonly prune: string;
}

/**
 * The database's clock in milliseconds, at the moment of evaluation: `now()` stands still within a transaction. A time
 * is set from the millisecond that is beginning and compared with the one that is running, so that no lock is cut short.
 */
const CLOCK = 'extract(epoch FROM clock_timestamp()) * 1000';
const NOW = `floor(${CLOCK})::bigint`;
const inMs = (parameter: string): string => `ceil(${CLOCK})::bigint + ${parameter}::bigint`;

const STATE = `CASE WHEN owner IS NULL THEN 'completed' ELSE 'in-flight' END`;

/**
 * @param lockTimeoutMs For how long a statement waits for a row that another transaction has written. Without it, for as
 * long as the settings of the connection say, which are left alone.
 */
export function statementsFor({ table }: TableNames, lockTimeoutMs?: number): Statements {
  // Holds to the end of the transaction, which is that of the statement, and is set before the statement waits for any row.
  const patience =
    lockTimeoutMs === undefined
      ? 'patience AS (SELECT 1 AS ready)'
      : `patience AS MATERIALIZED (SELECT set_config('lock_timeout', '${lockTimeoutMs}', true) AS ready)`;
  const held = 'patience.ready IS NOT NULL AND key_hash = $1 AND owner = $2';

  return {
    take: take(table, patience),
    settle: settle(table, patience),
    complete: `WITH ${patience}
UPDATE ${table} SET owner = NULL, response = $3::text::json, expires_at = ${inMs('$4')}
FROM patience WHERE ${held} AND expires_at > ${NOW} RETURNING 'yes' AS done`,
    extend: `WITH ${patience}
UPDATE ${table} SET expires_at = ${inMs('$3')}
FROM patience WHERE ${held} AND expires_at > ${NOW} RETURNING 'yes' AS done`,
    release: `WITH ${patience}
DELETE FROM ${table} USING patience WHERE ${held} AND expires_at > ${NOW} RETURNING 'yes' AS done`,
    prune: prune(table),
  };
}

/**
 * Reads, and writes only where there is nothing alive: a replay takes no lock and does not wait for the transaction that
 * is about to store an answer. Both parts see one snapshot. Whoever finds nothing in it, but the row taken when it comes
 * to write, gets no row: what was there before is not the answer.
 */
function take(table: string, patience: string): string {
  return `WITH ${patience}, alive AS MATERIALIZED (
  SELECT ${STATE} AS state, fingerprint, CASE WHEN owner IS NULL THEN response::text END AS response
  FROM ${table} WHERE key_hash = $1 AND expires_at > ${NOW}
), taken AS (
  INSERT INTO ${table} AS held (key_hash, key, fingerprint, owner, expires_at)
  SELECT $1, $2, $3, $4, ${inMs('$5')} FROM patience WHERE ready IS NOT NULL AND NOT EXISTS (SELECT FROM alive)
  ON CONFLICT (key_hash) DO UPDATE SET
    key = excluded.key, fingerprint = excluded.fingerprint, owner = excluded.owner, response = NULL, expires_at = ${inMs('$5')}
  WHERE held.expires_at <= ${NOW}
  RETURNING (expires_at - ${NOW})::text AS left
)
SELECT state, fingerprint, response, NULL AS left FROM alive
UNION ALL SELECT 'acquired', NULL, NULL, taken.left FROM taken`;
}

/**
 * Writes the row in any case, as it was where it is alive: under its lock there is one answer. Callers that keep taking
 * and freeing one key could otherwise keep coming in between for any number of rounds. Who has taken it is told by a text
 * in a column that has no use before the answer is there; the owner does not tell, since it may ask for what it has.
 */
function settle(table: string, patience: string): string {
  const either = (column: string, fresh: string): string => `CASE WHEN over THEN ${fresh} ELSE held.${column} END`;

  return `WITH ${patience}
INSERT INTO ${table} AS held (key_hash, key, fingerprint, owner, response, expires_at)
SELECT $1, $2, $3, $4, to_json($6::text), ${inMs('$5')} FROM patience WHERE ready IS NOT NULL
ON CONFLICT (key_hash) DO UPDATE SET (fingerprint, owner, response, expires_at) = (
  SELECT ${either('fingerprint', 'excluded.fingerprint')}, ${either('owner', 'excluded.owner')},
    ${either('response', 'excluded.response')}, ${either('expires_at', inMs('$5'))}
  FROM (SELECT held.expires_at <= ${NOW} AS over OFFSET 0) AS look
)
RETURNING CASE WHEN response::text = to_json($6::text)::text THEN 'acquired' ELSE ${STATE} END AS state,
  fingerprint, CASE WHEN owner IS NULL THEN response::text END AS response, (expires_at - ${NOW})::text AS left`;
}

/**
 * Rows that are being written are left for another time. `FOR UPDATE` looks again at a row that has changed since, so that
 * a lock that was just taken over stays. The clock is read once, since an index is of no use for a value that moves.
 */
function prune(table: string): string {
  return `WITH expired AS MATERIALIZED (
  SELECT key_hash FROM ${table} WHERE expires_at <= (SELECT ${NOW})
  ORDER BY expires_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM ${table} AS dead USING expired WHERE dead.key_hash = expired.key_hash RETURNING 1
)
SELECT count(*)::text AS pruned FROM gone`;
}

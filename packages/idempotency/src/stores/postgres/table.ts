import { OptionError, rejectUnknown, requireObject, show } from 'holdfast/binding';

export interface IdempotencyTableOptions {
  /** Default `idempotency_keys`. Case counts. */
  readonly table?: string | undefined;
  /** Where the table is. Default: the first schema of the connection's `search_path`. */
  readonly schema?: string | undefined;
}

/** Names as they stand in SQL: quoted. */
export interface TableNames {
  /** With its schema, if one was given. */
  readonly table: string;
  readonly index: string;
}

export const TABLE_OPTIONS = ['table', 'schema'] as const satisfies readonly (keyof IdempotencyTableOptions)[];

/** What each column is for is told by {@link idempotencySchema}. */
export const COLUMNS = ['key_hash', 'key', 'fingerprint', 'owner', 'response', 'expires_at'];

const INDEX_ENDING = '_expires_at_idx';

/** PostgreSQL cuts off what is longer, in bytes. Names are ASCII here. */
const LONGEST_NAME = 63;
const NAME = /^[a-z_][a-z0-9_-]*$/i;

/**
 * The SQL that makes the table of the keys, and nothing where it is there already; the same as the file
 * `@nestjs/idempotency/postgres/schema.sql`, for a table of any name. For a tool that keeps track of migrations.
 *
 * It may fail when two connections run it at once, as PostgreSQL's `IF NOT EXISTS` does; `ensureSchema()` of the store
 * does not.
 *
 * @throws TypeError when a name is none, or too long.
 */
export function idempotencySchema(options: IdempotencyTableOptions = {}): string {
  requireObject(options, '', "For example: { table: 'idempotency_keys', schema: 'app' }.");
  rejectUnknown(options, TABLE_OPTIONS);
  const { table, index } = namesOf(options);

  return `CREATE TABLE IF NOT EXISTS ${table} (
  -- SHA-256 of the key, in hex: of one length, whatever the key is
  key_hash text COLLATE "C" PRIMARY KEY,
  -- for people to read, with JSON's escapes
  key text NOT NULL,
  fingerprint text NOT NULL,
  -- who holds the lock; NULL once the answer is there
  owner text,
  -- json, since jsonb refuses NUL characters in strings
  response json,
  -- milliseconds since 1970 on the database's clock
  expires_at bigint NOT NULL
);

-- for pruning
CREATE INDEX IF NOT EXISTS ${index} ON ${table} (expires_at);
`;
}

export function namesOf({ table = 'idempotency_keys', schema }: IdempotencyTableOptions): TableNames {
  const name = quoted(table, 'table', LONGEST_NAME - INDEX_ENDING.length);
  const prefix = schema === undefined ? '' : `${quoted(schema, 'schema', LONGEST_NAME)}.`;

  return { table: prefix + name, index: `"${table}${INDEX_ENDING}"` };
}

function quoted(name: unknown, path: string, longest: number): string {
  if (typeof name === 'string' && NAME.test(name) && name.length <= longest) return `"${name}"`;

  const isQualified = path === 'table' && typeof name === 'string' && name.includes('.');
  throw new OptionError(
    path,
    `expected a name of at most ${longest} letters (a to z), digits, _ and -, not beginning with a digit, got ${show(name)}.` +
      (isQualified ? ' The schema is an option of its own.' : ''),
  );
}

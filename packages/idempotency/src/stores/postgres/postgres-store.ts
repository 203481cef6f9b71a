import type { Duration } from 'holdfast';
import { parseDuration, rejectUnknown, requireCount, requireObject } from 'holdfast/binding';
import { log } from '../../log.js';
import type { IdempotencyAcquireResult, IdempotencyStore, IdempotencyStoredPayload } from '../../store.js';
import { requireQueryable, runInsistently, runOn, type PostgresQueryable, type Run } from './queryable.js';
import { PostgresRecords } from './records.js';
import { ensureSchema } from './schema-setup.js';
import { statementsFor, type Statements } from './statements.js';
import { namesOf, TABLE_OPTIONS, type IdempotencyTableOptions } from './table.js';

export interface PostgresIdempotencyStoreOptions extends IdempotencyTableOptions {
  /**
   * For how long a call waits for a transaction that has written to the row of its key, before it rejects with
   * PostgreSQL's `55P03`: otherwise such calls would hold the connections of the pool. Above 0, rounded up to whole
   * milliseconds. Default 5 s, which is less than the module's `storeTimeout`.
   */
  readonly lockTimeout?: Duration | undefined;
  /**
   * After how many calls of `acquire()` twice as many rows are pruned, in the background; at least 1. Default 500.
   * `false`: never, since something else does.
   */
  readonly pruneEvery?: number | false | undefined;
}

const STORE_OPTIONS = [
  ...TABLE_OPTIONS,
  'lockTimeout',
  'pruneEvery',
] as const satisfies readonly (keyof PostgresIdempotencyStoreOptions)[];

const LONGEST_LOCK_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Keeps locks and answers in a table of PostgreSQL 12 or newer, or of the embedded PGlite. All times are the database's,
 * so that no clock of an application matters. Taking a key and storing its answer are one statement each.
 *
 * ```ts
 * const store = new PostgresIdempotencyStore(new Pool({ connectionString }));
 * await store.ensureSchema();
 * ```
 *
 * The pool stays the application's: it is not closed, and its `error` event is for the application to handle. Statements
 * that the session's isolation level makes fail (`40001`) are sent again, all other errors of the pool reject the call.
 */
export class PostgresIdempotencyStore implements IdempotencyStore {
  readonly #options: IdempotencyTableOptions;
  readonly #statements: Statements;
  readonly #joinedStatements: Statements;
  readonly #run: Run;
  readonly #records: PostgresRecords;
  readonly #pruneEvery: number;
  #acquiresToPrune: number;
  #pruning = false;

  /**
   * @param pool A `Pool` of `pg`, a `PGlite`, or what looks like them. A single connection works too, one call at a time,
   * as long as nobody opens a transaction on it.
   * @throws TypeError when the pool is none, or an option is unknown or out of its range.
   */
  constructor(pool: PostgresQueryable, options: PostgresIdempotencyStoreOptions = {}) {
    requireObject(options, '', "For example: { table: 'idempotency_keys' }.");
    rejectUnknown(options, STORE_OPTIONS);
    const { table, schema, lockTimeout = '5s', pruneEvery = 500 } = options;
    this.#options = { table, schema };
    const names = namesOf(this.#options);
    const lockTimeoutMs = parseDuration(lockTimeout, 'lockTimeout', { positive: true, whole: true });
    this.#statements = statementsFor(names, Math.min(lockTimeoutMs, LONGEST_LOCK_TIMEOUT_MS));
    this.#joinedStatements = statementsFor(names);
    this.#run = runInsistently(requireQueryable(pool, 'pool'));
    this.#records = new PostgresRecords(this.#statements, this.#run);
    this.#pruneEvery = pruneEvery === false ? Infinity : requireCount(pruneEvery, 'pruneEvery', { min: 1 });
    // Processes that live for fewer calls than that prune as well, some of them.
    this.#acquiresToPrune = Math.ceil(Math.random() * this.#pruneEvery);
  }

  /** @throws Error when the database cannot be reached, or another transaction keeps the row for `lockTimeout`. */
  acquire(key: string, owner: string, fingerprint: string, lockTtl: number): Promise<IdempotencyAcquireResult> {
    const found = this.#records.acquire(key, owner, fingerprint, lockTtl);
    // On a single connection, statements come one after the other: this call is not behind it.
    this.#countForPruning();

    return found;
  }

  complete(key: string, owner: string, response: IdempotencyStoredPayload, ttl: number): Promise<boolean> {
    return this.#records.complete(key, owner, response, ttl);
  }

  release(key: string, owner: string): Promise<boolean> {
    return this.#records.release(key, owner);
  }

  extend(key: string, owner: string, lockTtl: number): Promise<boolean> {
    return this.#records.extend(key, owner, lockTtl);
  }

  /**
   * The same records, read and written in a transaction of the caller's: on this connection, which has to be in one.
   *
   * Taking the lock on the pool and storing the answer in here, as the last thing before `COMMIT`, makes effects and
   * records agree exactly, whatever dies when. Others see the lock at once and are told that the key is in use; the answer
   * and the business data become visible together, or neither does. From `complete()` to the end of the transaction the
   * row is locked, so that nobody can take the key, even where the lock's time is over.
   *
   * - `complete()` answers `false` when the lock is not the owner's any more: then the work is done a second time, or is
   *   about to be. **Roll back.**
   * - After `ROLLBACK`, or when the connection dies, the lock is what it was before: release it on the pool, or let it
   *   expire.
   * - Where `COMMIT` fails without an answer, releasing on the pool is right in either case: it waits for the end of the
   *   transaction, and frees nothing that was committed.
   * - Under `REPEATABLE READ` and `SERIALIZABLE`, PostgreSQL refuses a row that has changed since the transaction began,
   *   and a lock that is renewed does change: `complete()` may reject with `40001`, and the transaction starts anew.
   *
   * `acquire()` in here works as well: then `ROLLBACK` frees the key at once, but to others the lock is not visible before
   * `COMMIT`. They wait for it, each with a connection, for `lockTimeout` (on the pool) or as the `lock_timeout` of
   * their connection says (in here, where no setting is changed).
   *
   * @throws TypeError when it cannot run SQL.
   */
  joining(connection: PostgresQueryable): IdempotencyStore {
    return new PostgresRecords(this.#joinedStatements, runOn(requireQueryable(connection, 'connection')));
  }

  /**
   * Makes the table and its index where they are missing; processes may call it at the same time. Otherwise migrate with
   * `idempotencySchema()`.
   *
   * @throws Error when the table has other columns, the database has not the encoding UTF8, or the user may not make tables.
   */
  ensureSchema(): Promise<void> {
    return ensureSchema(this.#run, this.#options);
  }

  /**
   * Deletes rows whose time is over, the oldest first, and passes by those that somebody is writing to. Any number of
   * processes may do so at once. What is over does not exist for the other methods, deleted or not.
   *
   * The store does so by itself (`pruneEvery`); where the database has `pg_cron`, it can instead:
   *
   * ```sql
   * SELECT cron.schedule('prune idempotency keys', '* * * * *', $$
   *   DELETE FROM idempotency_keys WHERE expires_at <= floor(extract(epoch FROM now()) * 1000)::bigint
   * $$);
   * ```
   *
   * @param limit The most to delete, at least 1. Default 1,000: a batch that holds nobody up.
   * @returns How many were deleted; as many as `limit`: there may be more.
   * @throws TypeError when the limit is out of its range.
   */
  async prune(limit = 1_000): Promise<number> {
    requireCount(limit, 'limit', { min: 1 });
    const [row] = await this.#run(this.#statements.prune, [limit]);

    return Number(row?.pruned);
  }

  #countForPruning(): void {
    this.#acquiresToPrune -= 1;
    if (this.#acquiresToPrune > 0 || this.#pruning) return;

    this.#acquiresToPrune = this.#pruneEvery;
    this.#pruning = true;
    // Twice what can have been added since: a backlog grows less.
    this.prune(2 * this.#pruneEvery)
      .catch((error: unknown) => {
        log('warn', `Expired idempotency keys were not pruned: ${String(error)}`);
      })
      .finally(() => (this.#pruning = false));
  }
}

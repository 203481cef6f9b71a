import type {
  IdempotencyAcquireResult,
  IdempotencyStore,
  IdempotencyStoredPayload,
  IdempotencyStoredResponse,
} from '@nestjs/idempotency';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Fault } from './server-settings.js';

const COLUMNS = `(key text PRIMARY KEY, fingerprint text NOT NULL, owner text, response json, expires_at timestamptz NOT NULL)`;

/** As long as a connection to a database in another building takes. */
const WINDOW_MS = 5;

interface Row {
  readonly fingerprint: string;
  readonly owner: string | null;
  readonly response: IdempotencyStoredResponse;
}

/**
 * A store as it is written in an afternoon, right as it stands, and with one fault when it is asked for: the proof has to
 * find it.
 */
export class NaiveStore implements IdempotencyStore {
  constructor(
    private readonly pool: Pool,
    private readonly fault: Fault,
  ) {}

  async ensureTable(): Promise<void> {
    // PostgreSQL empties such a table when it recovers from a crash.
    const kind = this.fault === 'forgotten-in-a-crash' ? 'UNLOGGED TABLE' : 'TABLE';
    await this.pool.query(`CREATE ${kind} IF NOT EXISTS naive_keys ${COLUMNS}`);
  }

  async acquire(key: string, owner: string, fingerprint: string, lockTtl: number): Promise<IdempotencyAcquireResult> {
    for (;;) {
      const found = await this.find(key);
      if (found !== undefined) {
        return found.owner === null
          ? { state: 'completed', fingerprint: found.fingerprint, response: found.response }
          : { state: 'in-flight', fingerprint: found.fingerprint };
      }

      const isAtomic = this.fault !== 'read-then-write';
      if (!isAtomic) await pause(WINDOW_MS);
      const taken = await this.pool.query(
        `INSERT INTO naive_keys AS held VALUES ($1, $2, $3, NULL, ${this.after('$4')}) ON CONFLICT (key) DO UPDATE SET
          fingerprint = $2, owner = $3, response = NULL, expires_at = ${this.after('$4')}
          ${isAtomic ? `WHERE NOT held.${this.isAlive}` : ''} RETURNING key`,
        [key, fingerprint, owner, lockTtl],
      );
      if (taken.rows.length > 0) return { state: 'acquired' };
    }
  }

  async complete(key: string, owner: string, response: IdempotencyStoredPayload, ttl: number): Promise<boolean> {
    const isOwned = this.fault === 'complete-without-owner' ? '$2::text IS NOT NULL' : `owner = $2 AND ${this.isAlive}`;

    return this.change(
      `UPDATE naive_keys SET owner = NULL, response = $3, expires_at = ${this.after('$4')} WHERE key = $1 AND ${isOwned} RETURNING key`,
      [key, owner, JSON.stringify(response), ttl],
    );
  }

  async release(key: string, owner: string): Promise<boolean> {
    const isOwned = this.fault === 'release-without-owner' ? '$2::text IS NOT NULL' : `owner = $2 AND ${this.isAlive}`;

    return this.change(`DELETE FROM naive_keys WHERE key = $1 AND ${isOwned} RETURNING key`, [key, owner]);
  }

  async extend(key: string, owner: string, lockTtl: number): Promise<boolean> {
    return this.change(
      `UPDATE naive_keys SET expires_at = ${this.after('$3')}
        WHERE key = $1 AND owner = $2 AND ${this.isAlive} RETURNING key`,
      [key, owner, lockTtl],
    );
  }

  private get now(): string {
    return this.fault === 'clock-of-the-server' ? `to_timestamp(${Date.now() / 1_000})` : 'clock_timestamp()';
  }

  private get isAlive(): string {
    return `expires_at > ${this.now}`;
  }

  private after(milliseconds: string): string {
    return `${this.now} + ${milliseconds}::bigint * interval '1 ms'`;
  }

  private async find(key: string): Promise<Row | undefined> {
    const isAlive = this.fault === 'no-expiry-check' ? '' : `AND ${this.isAlive}`;
    const { rows } = await this.pool.query<Row>(
      `SELECT fingerprint, owner, response FROM naive_keys WHERE key = $1 ${isAlive}`,
      [key],
    );

    return rows[0];
  }

  private async change(statement: string, values: readonly unknown[]): Promise<boolean> {
    return (await this.pool.query(statement, [...values])).rows.length > 0;
  }
}

import { kindOf, show } from 'holdfast/binding';
import { createHash, randomUUID } from 'node:crypto';
import type { IdempotencyAcquireResult, IdempotencyStore, IdempotencyStoredPayload } from '../../store.js';
import type { Run, TextRow } from './queryable.js';
import type { Statements } from './statements.js';

/** How often a lock may be over by the time that it is got, before the call gives up. */
const ROUNDS = 5;

/** The records of one table, by way of one pool or connection. */
export class PostgresRecords implements IdempotencyStore {
  constructor(
    private readonly statements: Statements,
    private readonly run: Run,
  ) {}

  async acquire(key: string, owner: string, fingerprint: string, lockTtl: number): Promise<IdempotencyAcquireResult> {
    const claim = [hashOf(key), legible(key), fingerprint, owner, lockTtl];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const found = resultOf(await this.look(claim));
      if (found.state !== 'acquired') return found;
      // A lock that was written down before it had to wait for another transaction has been running meanwhile.
      if (found.leftMs * 2 >= lockTtl || (await this.extend(key, owner, lockTtl))) return { state: 'acquired' };
    }

    throw new Error(
      `The lock of an idempotency key was over before PostgreSQL had confirmed it, ${ROUNDS} times: ` +
        `a lockTtl of ${lockTtl}ms is too short for this database.`,
    );
  }

  async complete(key: string, owner: string, response: IdempotencyStoredPayload, ttl: number): Promise<boolean> {
    // Its text is ASCII where PostgreSQL is particular: NUL characters and halves of surrogate pairs come escaped.
    return this.change(this.statements.complete, [hashOf(key), owner, JSON.stringify(response), ttl]);
  }

  async release(key: string, owner: string): Promise<boolean> {
    return this.change(this.statements.release, [hashOf(key), owner]);
  }

  async extend(key: string, owner: string, lockTtl: number): Promise<boolean> {
    return this.change(this.statements.extend, [hashOf(key), owner, lockTtl]);
  }

  private async change(statement: string, values: readonly unknown[]): Promise<boolean> {
    return (await this.run(statement, values)).length > 0;
  }

  private async look(claim: readonly unknown[]): Promise<TextRow | undefined> {
    const [found] = await this.run(this.statements.take, claim);
    if (found !== undefined) return found;

    return (await this.run(this.statements.settle, [...claim, randomUUID()]))[0];
  }
}

type Found =
  | { readonly state: 'acquired'; readonly leftMs: number }
  | Exclude<IdempotencyAcquireResult, { readonly state: 'acquired' }>;

function resultOf(row: TextRow = {}): Found {
  const { state, fingerprint, response, left } = row;
  if (state === 'acquired') return { state, leftMs: Number(left) };
  if (typeof fingerprint === 'string') {
    if (state === 'in-flight') return { state, fingerprint };
    // NULL, where somebody has changed the row, is handed on: as an answer that cannot be read, not as a store that fails.
    if (state === 'completed' && (typeof response === 'string' || response === null)) {
      return { state, fingerprint, response: JSON.parse(response ?? 'null') as IdempotencyStoredPayload };
    }
  }

  throw new Error(
    `PostgreSQL answered with a row that is no idempotency record: state ${show(state)}, ` +
      `fingerprint ${show(fingerprint)}, response ${kindOf(response)}.`,
  );
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Keys that no text of UTF-8 can tell apart are hashed by their units, behind a byte that is never in UTF-8. */
function hashOf(key: string): string {
  const hash = createHash('sha256');
  if (LONE_SURROGATE.test(key)) hash.update(Uint8Array.of(0xff)).update(key, 'utf16le');
  else hash.update(key);

  return hash.digest('hex');
}

/** Text of PostgreSQL has no NUL. Common keys stay as they are. */
function legible(key: string): string {
  return JSON.stringify(key).slice(1, -1);
}

import { now, rejectUnknown, requireCount, requireObject } from 'holdfast/binding';
import type { IdempotencyAcquireResult, IdempotencyStore, IdempotencyStoredPayload } from '../store.js';
import { IdempotencyStoreFullError } from './store-full-error.js';

export interface InMemoryIdempotencyStoreOptions {
  /**
   * How many locks and records may be alive at once, at least 1. Default `Infinity`. At the limit, `acquire()` of another
   * key rejects with `IdempotencyStoreFullError`: what is alive is never dropped to make room.
   */
  readonly maxEntries?: number | undefined;
}

/** What is alive under a key. */
export type InMemoryIdempotencyEntry = Exclude<IdempotencyAcquireResult, { readonly state: 'acquired' }>;

interface Lock {
  readonly state: 'in-flight';
  readonly fingerprint: string;
  readonly owner: string;
  readonly expiresAt: number;
}

interface StoredRecord {
  readonly state: 'completed';
  readonly fingerprint: string;
  /** As JSON, which it is: a copy of a text costs nothing, and one of its value half of what a clone does. */
  readonly response: string;
  readonly expiresAt: number;
}

type Entry = Lock | StoredRecord;

const ACQUIRES_PER_SWEEP = 1_000;

/**
 * Keeps locks and answers in this process, for development, tests and applications of one instance: a restart loses
 * them, and other instances do not see them. Time is the engine's: no step of the wall clock ends a lock, fake timers
 * move it.
 *
 * It starts no timer. What is over is dropped when its key is looked at, and otherwise by every 1,000th `acquire()`, by
 * `size`, and by an `acquire()` that finds no room.
 */
export class InMemoryIdempotencyStore implements IdempotencyStore {
  readonly #entries = new Map<string, Entry>();
  readonly #maxEntries: number;
  #acquires = 0;
  /** No entry is over before, so that a full store is not searched again and again in vain. */
  #earliestExpiry = Infinity;

  /** @throws TypeError when an option is unknown or out of its range. */
  constructor(options: InMemoryIdempotencyStoreOptions = {}) {
    requireObject(options, '', 'For example: { maxEntries: 100_000 }.');
    rejectUnknown(options, ['maxEntries']);
    this.#maxEntries = requireCount(options.maxEntries ?? Infinity, 'maxEntries', { min: 1, infinite: true });
  }

  // No method awaits anything: each looks and writes in one go, which no other call can come between.

  /** @throws IdempotencyStoreFullError when `maxEntries` other keys are alive. */
  async acquire(key: string, owner: string, fingerprint: string, lockTtl: number): Promise<IdempotencyAcquireResult> {
    this.#acquires += 1;
    if (this.#acquires % ACQUIRES_PER_SWEEP === 0) this.#sweep();
    const found = this.#alive(key);
    if (found !== undefined) return viewOf(found);
    if (this.#entries.size >= this.#maxEntries) this.#sweep();
    if (this.#entries.size >= this.#maxEntries) throw new IdempotencyStoreFullError(this.#maxEntries);

    this.#put(key, { state: 'in-flight', fingerprint, owner, expiresAt: now() + lockTtl });
    return { state: 'acquired' };
  }

  async complete(key: string, owner: string, response: IdempotencyStoredPayload, ttl: number): Promise<boolean> {
    const lock = this.#lockOf(key, owner);
    if (lock === undefined) return false;

    const { fingerprint } = lock;
    // What is no data is refused, where a text would be made without it.
    const text = JSON.stringify(structuredClone(response));
    this.#put(key, { state: 'completed', fingerprint, response: text, expiresAt: now() + ttl });
    return true;
  }

  async release(key: string, owner: string): Promise<boolean> {
    return this.#lockOf(key, owner) !== undefined && this.#entries.delete(key);
  }

  async extend(key: string, owner: string, lockTtl: number): Promise<boolean> {
    const lock = this.#lockOf(key, owner);
    if (lock === undefined) return false;

    this.#put(key, { ...lock, expiresAt: now() + lockTtl });
    return true;
  }

  /** A copy of what is alive under the key of a record, if anything is: for tests. */
  peek(recordKey: string): InMemoryIdempotencyEntry | undefined {
    const found = this.#alive(recordKey);

    return found === undefined ? undefined : viewOf(found);
  }

  /** How many locks and records are alive. */
  get size(): number {
    this.#sweep();

    return this.#entries.size;
  }

  /** Forgets everything, locks of calls that are running too: for tests. */
  clear(): void {
    this.#entries.clear();
    this.#earliestExpiry = Infinity;
  }

  #lockOf(key: string, owner: string): Lock | undefined {
    const found = this.#alive(key);

    return found?.state === 'in-flight' && found.owner === owner ? found : undefined;
  }

  #alive(key: string): Entry | undefined {
    const found = this.#entries.get(key);
    if (found === undefined || now() < found.expiresAt) return found;

    this.#entries.delete(key);
    return undefined;
  }

  #put(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#earliestExpiry = Math.min(this.#earliestExpiry, entry.expiresAt);
  }

  #sweep(): void {
    const time = now();
    if (time < this.#earliestExpiry) return;

    this.#earliestExpiry = Infinity;
    for (const [key, { expiresAt }] of this.#entries) {
      if (expiresAt <= time) this.#entries.delete(key);
      else this.#earliestExpiry = Math.min(this.#earliestExpiry, expiresAt);
    }
  }
}

/** A copy: nobody can change what is stored by changing an answer that he was given. */
function viewOf(entry: Entry): InMemoryIdempotencyEntry {
  const { state, fingerprint } = entry;

  return state === 'in-flight'
    ? { state, fingerprint }
    : { state, fingerprint, response: JSON.parse(entry.response) as IdempotencyStoredPayload };
}

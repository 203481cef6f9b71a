import type { IdempotencyAcquireResult } from '../store.js';
import { pause, PlainStore, type Entry } from './plain-store.model.js';
import { planted, RULE, type PlantedFault } from './planted-fault.model.js';

class ReadThenWrite extends PlainStore {
  protected override pauses(method: 'acquire' | 'complete'): boolean {
    return method === 'acquire';
  }
}

/** Atomic under a key that nobody had, and only there. */
class CarelessTakeover extends PlainStore {
  override async acquire(
    key: string,
    owner: string,
    fingerprint: string,
    ttl: number,
  ): Promise<IdempotencyAcquireResult> {
    const isTakeover = this.entries.has(key) && this.find(key) === undefined;
    if (isTakeover) await pause();
    if (!isTakeover) return super.acquire(key, owner, fingerprint, ttl);

    this.put(key, { fingerprint, owner, expiresAt: this.endOf(ttl) });
    return { state: 'acquired' };
  }
}

class DeleteThenInsert extends PlainStore {
  protected override pauses(method: 'acquire' | 'complete'): boolean {
    return method === 'complete';
  }
}

/** Inserts, and if that fails reads what is there: which is gone when it was released in between. */
class InsertThenSelect extends PlainStore {
  override async acquire(
    key: string,
    owner: string,
    fingerprint: string,
    ttl: number,
  ): Promise<IdempotencyAcquireResult> {
    if (this.find(key) === undefined) return super.acquire(key, owner, fingerprint, ttl);
    await pause();
    const found = this.find(key);
    if (found === undefined) throw new Error('No row');

    return this.view(found, fingerprint);
  }
}

/** Remembers for all keys who came last. */
class LastFingerprint extends PlainStore {
  #last = '';

  override acquire(key: string, owner: string, fingerprint: string, ttl: number): Promise<IdempotencyAcquireResult> {
    if (this.find(key) === undefined) this.#last = fingerprint;
    return super.acquire(key, owner, fingerprint, ttl);
  }

  protected override view(found: Entry, fingerprint: string): IdempotencyAcquireResult {
    return super.view({ ...found, fingerprint: this.#last }, fingerprint);
  }
}

/** About what several do at the same moment. */
export const RACE_FAULTS: readonly PlantedFault[] = [
  planted('acquire() reads, and then writes', ReadThenWrite, RULE.freeKey),
  planted('taking over what is over is not atomic', CarelessTakeover, RULE.overLock, RULE.overRecord),
  planted('complete() deletes the lock, and then inserts the record', DeleteThenInsert, RULE.complete),
  planted('acquire() finds a lock, and then reads a row that is gone', InsertThenSelect, RULE.release),
  planted('all keys share the fingerprint of the last lock', LastFingerprint, RULE.manyKeys),
];

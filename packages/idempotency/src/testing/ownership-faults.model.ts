import type { IdempotencyAcquireResult, IdempotencyStoredPayload } from '../store.js';
import { PlainStore, type Entry } from './plain-store.model.js';
import { planted, RULE, type PlantedFault } from './planted-fault.model.js';

type Change = 'complete' | 'release' | 'extend';

/** Anybody may do this with a lock. */
const openTo = (change: Change) =>
  class extends PlainStore {
    protected override mayChange(method: Change, found: Entry, owner: string): boolean {
      return super.mayChange(method, found, owner) || (method === change && found.response === undefined);
    }
  };

/** Whoever has asked with the fingerprint of a lock counts as its owner. */
class OwnershipByFingerprint extends PlainStore {
  readonly #fingerprints = new Map<string, string>();

  override acquire(key: string, owner: string, fingerprint: string, ttl: number): Promise<IdempotencyAcquireResult> {
    this.#fingerprints.set(owner, fingerprint);
    return super.acquire(key, owner, fingerprint, ttl);
  }

  protected override mayChange(_method: Change, found: Entry, owner: string): boolean {
    return found.response === undefined && this.#fingerprints.get(owner) === found.fingerprint;
  }
}

class ReentrantLock extends PlainStore {
  override acquire(key: string, owner: string, fingerprint: string, ttl: number): Promise<IdempotencyAcquireResult> {
    const isOwn = this.find(key)?.owner === owner;
    return isOwn ? Promise.resolve({ state: 'acquired' }) : super.acquire(key, owner, fingerprint, ttl);
  }
}

class EchoedFingerprint extends PlainStore {
  protected override view(found: Entry, fingerprint: string): IdempotencyAcquireResult {
    return super.view({ ...found, fingerprint }, fingerprint);
  }
}

/** Keeps the owner beside the answer, and asks for nothing else. */
class RewrittenRecord extends PlainStore {
  override async complete(
    key: string,
    owner: string,
    response: IdempotencyStoredPayload,
    ttl: number,
  ): Promise<boolean> {
    const found = this.find(key);
    if (found === undefined || found.owner !== owner) return false;

    this.put(key, { ...found, response: this.copy(response), expiresAt: this.endOf(ttl) });
    return true;
  }

  protected override mayChange(_method: Change, found: Entry, owner: string): boolean {
    return found.response === undefined && found.owner === owner;
  }
}

/** Inserts where it finds nothing. */
class Upsert extends PlainStore {
  override async complete(
    key: string,
    owner: string,
    response: IdempotencyStoredPayload,
    ttl: number,
  ): Promise<boolean> {
    if (this.find(key) !== undefined) return super.complete(key, owner, response, ttl);
    this.put(key, { fingerprint: '', response, expiresAt: this.endOf(ttl) });
    return false;
  }
}

/** Answers that are no answers. */
const answering = (result: unknown, decision?: unknown) =>
  class extends PlainStore {
    override acquire(key: string, owner: string, fingerprint: string, ttl: number): Promise<IdempotencyAcquireResult> {
      const isFirst = this.find(key) === undefined;
      const answer = super.acquire(key, owner, fingerprint, ttl);

      return isFirst || result === undefined ? answer : Promise.resolve(result as IdempotencyAcquireResult);
    }

    override async extend(key: string, owner: string, ttl: number): Promise<boolean> {
      const extended = await super.extend(key, owner, ttl);

      return extended || decision === undefined ? extended : (decision as boolean);
    }
  };

/** About who may change what. */
export const OWNERSHIP_FAULTS: readonly PlantedFault[] = [
  planted('complete() does not look at the owner', openTo('complete'), RULE.completes),
  planted('release() does not look at the owner', openTo('release'), RULE.releases, RULE.frees),
  planted('extend() does not look at the owner', openTo('extend'), RULE.extends),
  planted('the fingerprint proves who the owner is', OwnershipByFingerprint, RULE.completes),
  planted('the owner takes his lock twice', ReentrantLock, RULE.takes),
  planted('acquire() echoes the fingerprint of the caller', EchoedFingerprint, RULE.takes),
  planted('a record is written again', RewrittenRecord, RULE.final),
  planted('complete() writes where there is no lock', Upsert, RULE.nothing),
  planted('acquire() answers with a text', answering('in-flight'), RULE.takes),
  planted('acquire() answers without a fingerprint', answering({ state: 'in-flight' }), RULE.takes),
  planted('extend() answers with a number', answering(undefined, 0), RULE.extends),
];

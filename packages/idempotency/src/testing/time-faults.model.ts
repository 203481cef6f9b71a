import type { IdempotencyAcquireResult, IdempotencyStoredPayload } from '../store.js';
import { PlainStore, type Entry } from './plain-store.model.js';
import { planted, RULE, type PlantedFault } from './planted-fault.model.js';

class NoExpiry extends PlainStore {
  protected override isAlive(): boolean {
    return true;
  }
}

/** Only `acquire()` looks at the time. */
class UncheckedChanges extends PlainStore {
  override complete(key: string, owner: string, response: IdempotencyStoredPayload, ttl: number): Promise<boolean> {
    this.#revive(key);
    return super.complete(key, owner, response, ttl);
  }

  override release(key: string, owner: string): Promise<boolean> {
    this.#revive(key);
    return super.release(key, owner);
  }

  override extend(key: string, owner: string, ttl: number): Promise<boolean> {
    this.#revive(key);
    return super.extend(key, owner, ttl);
  }

  #revive(key: string): void {
    const found = this.entries.get(key);
    if (found !== undefined) this.put(key, { ...found, expiresAt: Math.max(found.expiresAt, Date.now() + 1) });
  }
}

/** One more millisecond than was asked for. */
class LateEnd extends PlainStore {
  protected override isAlive({ expiresAt }: Entry): boolean {
    return Date.now() <= expiresAt;
  }
}

/** Whole seconds, of which none means that there is no end. */
class SecondsWithZeroForNever extends PlainStore {
  protected override endOf(ttl: number): number {
    const seconds = Math.floor(ttl / 1_000);

    return seconds === 0 ? Infinity : Date.now() + seconds * 1_000;
  }
}

/** Every end is a timer, and none can be longer than 2^31 - 1 ms. */
class EndsByTimer extends PlainStore {
  protected override endOf(ttl: number): number {
    return super.endOf(ttl > 2 ** 31 - 1 ? 1 : ttl);
  }
}

/** 32 bits of milliseconds are 24.8 days. */
class CappedTimes extends PlainStore {
  protected override endOf(ttl: number): number {
    return super.endOf(Math.min(ttl, 2 ** 31 - 1));
  }
}

/** A lock is stored as if it were a record already. */
class LockForADay extends PlainStore {
  override acquire(key: string, owner: string, fingerprint: string): Promise<IdempotencyAcquireResult> {
    return super.acquire(key, owner, fingerprint, 86_400_000);
  }
}

class ProlongedByAsking extends PlainStore {
  protected override view(found: Entry, fingerprint: string): IdempotencyAcquireResult {
    for (const [key, entry] of this.entries) {
      if (entry === found) this.put(key, { ...found, expiresAt: found.expiresAt + 1_000 });
    }
    return super.view(found, fingerprint);
  }
}

/** Says no, and does it. */
class ExtendedRecord extends PlainStore {
  override async extend(key: string, owner: string, ttl: number): Promise<boolean> {
    const found = this.find(key);
    if (found?.response === undefined) return super.extend(key, owner, ttl);

    this.put(key, { ...found, expiresAt: this.endOf(ttl) });
    return false;
  }
}

class RecordWithTheTimeOfItsLock extends PlainStore {
  override complete(key: string, owner: string, response: IdempotencyStoredPayload): Promise<boolean> {
    return super.complete(key, owner, response, (this.find(key)?.expiresAt ?? 0) - Date.now());
  }
}

/** About how long what is stored lives. */
export const TIME_FAULTS: readonly PlantedFault[] = [
  planted('nothing is ever over', NoExpiry, RULE.frees, RULE.forgets),
  planted('only acquire() looks at the time', UncheckedChanges, RULE.late),
  planted('an end is a millisecond late', LateEnd, RULE.frees, RULE.forgets),
  planted('a millisecond is no second, and none means for ever', SecondsWithZeroForNever, RULE.times),
  planted('long times overflow a timer', EndsByTimer, RULE.times),
  planted('long times end after 2^31 - 1 ms', CappedTimes, RULE.times),
  planted('a lock lives as long as a record', LockForADay, RULE.frees),
  planted('asking for a lock prolongs it', ProlongedByAsking, RULE.frees),
  planted('extend() prolongs a record', ExtendedRecord, RULE.ownTime),
  planted('a record has the time of its lock', RecordWithTheTimeOfItsLock, RULE.ownTime),
];

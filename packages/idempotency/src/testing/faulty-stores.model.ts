import type { IdempotencyAcquireResult, IdempotencyStore, IdempotencyStoredPayload } from '../store.js';
import { pause, PlainStore, type Entry } from './plain-store.model.js';

/** A fault that stores have, and the rules of the contract that it breaks. */
export interface PlantedFault {
  readonly fault: string;
  readonly create: () => IdempotencyStore;
  readonly breaks: readonly string[];
}

const TAKES = 'takes a free key, and tells everybody else whose it is';
const COMPLETES = 'completes a lock for its owner only';
const FINAL = 'never changes a record';
const RELEASES = 'releases a lock for its owner only';
const NOTHING = 'changes nothing under a key on which there is nothing';
const EXTENDS = 'extends a lock for its owner only';
const OWN_TIME = 'gives a record its own time, which nothing extends';
const FREES = 'frees a lock when its time is over, and keeps its late owner off the next one';
const LATE = 'lets the owner of a lock that is over change nothing, though nobody has taken it';
const FORGETS = 'forgets a record when its time is over';
const TIMES = 'keeps to times from a millisecond to 30 days';
const APART = 'keeps keys apart that are nearly the same';
const COPY = 'gives back an equal copy of the answer';
const RACE_FREE = 'gives a free key to one of many callers';
const RACE_LOCK = 'gives a lock that is over to one of many callers, and nothing to its late owner';
const RACE_RECORD = 'gives a record that is over to one of many callers';
const RACE_KEYS = 'gives each of many keys to one of many callers';
const RACE_RELEASE = 'releases a lock amid callers of whom at most one gets it';
const RACE_COMPLETE = 'completes a lock amid callers of whom nobody gets it';

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

class EchoedFingerprint extends PlainStore {
  protected override view(found: Entry, fingerprint: string): IdempotencyAcquireResult {
    return super.view({ ...found, fingerprint }, fingerprint);
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

const nameWith = (nameOf: (key: string) => string) =>
  class extends PlainStore {
    protected override nameOf(key: string): string {
      return nameOf(key);
    }
  };

const copyWith = (copy: (response: IdempotencyStoredPayload) => IdempotencyStoredPayload) =>
  class extends PlainStore {
    protected override copy(response: IdempotencyStoredPayload): IdempotencyStoredPayload {
      return copy(response);
    }
  };

const viaText = (change: (text: string) => string) =>
  copyWith((response) => JSON.parse(change(JSON.stringify(response))) as IdempotencyStoredPayload);

/** As `jsonb` does. */
const sorted = (_key: string, value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a.length - b.length || (a < b ? -1 : 1)));

/** A plain object in place of a map. */
class ObjectForMap extends PlainStore {
  readonly #table: Record<string, Entry> = {};

  protected override find(key: string): Entry | undefined {
    const found = this.#table[key];

    return found !== undefined && this.isAlive(found) ? found : undefined;
  }

  protected override put(key: string, entry: Entry): void {
    this.#table[key] = entry;
  }

  override async release(key: string, owner: string): Promise<boolean> {
    return this.find(key)?.owner === owner && delete this.#table[key];
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

const planted = (fault: string, Store: new () => IdempotencyStore, ...breaks: readonly string[]): PlantedFault => ({
  fault,
  create: () => new Store(),
  breaks,
});

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  planted('acquire() reads, and then writes', ReadThenWrite, RACE_FREE),
  planted('taking over what is over is not atomic', CarelessTakeover, RACE_LOCK, RACE_RECORD),
  planted('complete() deletes the lock, and then inserts the record', DeleteThenInsert, RACE_COMPLETE),
  planted('acquire() finds a lock, and then reads a row that is gone', InsertThenSelect, RACE_RELEASE),
  planted('all keys share the fingerprint of the last lock', LastFingerprint, RACE_KEYS),
  planted('complete() does not look at the owner', openTo('complete'), COMPLETES),
  planted('release() does not look at the owner', openTo('release'), RELEASES, FREES),
  planted('extend() does not look at the owner', openTo('extend'), EXTENDS),
  planted('the fingerprint proves who the owner is', OwnershipByFingerprint, COMPLETES),
  planted('the owner takes his lock twice', ReentrantLock, TAKES),
  planted('acquire() echoes the fingerprint of the caller', EchoedFingerprint, TAKES),
  planted('nothing is ever over', NoExpiry, FREES, FORGETS),
  planted('only acquire() looks at the time', UncheckedChanges, LATE),
  planted('an end is a millisecond late', LateEnd, FREES, FORGETS),
  planted('a millisecond is no second, and none means for ever', SecondsWithZeroForNever, TIMES),
  planted('long times overflow a timer', EndsByTimer, TIMES),
  planted('long times end after 2^31 - 1 ms', CappedTimes, TIMES),
  planted('a lock lives as long as a record', LockForADay, FREES),
  planted('asking for a lock prolongs it', ProlongedByAsking, FREES),
  planted('extend() prolongs a record', ExtendedRecord, OWN_TIME),
  planted('a record has the time of its lock', RecordWithTheTimeOfItsLock, OWN_TIME),
  planted('a record is written again', RewrittenRecord, FINAL),
  planted('complete() writes where there is no lock', Upsert, NOTHING),
  planted(
    'keys are cut after 255 characters',
    nameWith((key) => key.slice(0, 255)),
    APART,
  ),
  planted(
    'keys are compared without their case',
    nameWith((key) => key.toLowerCase()),
    APART,
  ),
  planted(
    'keys are compared without blanks around them',
    nameWith((key) => key.trim()),
    APART,
  ),
  planted(
    'keys are composed',
    nameWith((key) => key.normalize()),
    APART,
  ),
  planted(
    'keys end at NUL',
    nameWith((key) => key.split('\0', 1)[0] as string),
    APART,
  ),
  planted(
    'keys are URI-decoded',
    nameWith((key) => key.replaceAll('%3A', ':')),
    APART,
  ),
  planted('keys are fields of an object', ObjectForMap, APART),
  planted(
    'answers are shared',
    copyWith((response) => response),
    COPY,
  ),
  planted(
    'answers lose NUL',
    viaText((text) => text.replaceAll('\\u0000', '')),
    COPY,
  ),
  planted(
    'answers lose what is beyond the first plane',
    viaText((text) => text.replaceAll(/\p{Extended_Pictographic}/gu, '?')),
    COPY,
  ),
  planted(
    'answers lose the order of their fields',
    viaText((text) => JSON.stringify(JSON.parse(text, sorted))),
    COPY,
  ),
  planted(
    'answers are cut at 64 kB',
    copyWith((response) => cutTexts(response, 65_536)),
    COPY,
  ),
  planted('acquire() answers with a text', answering('in-flight'), TAKES),
  planted('acquire() answers without a fingerprint', answering({ state: 'in-flight' }), TAKES),
  planted('extend() answers with a number', answering(undefined, 0), EXTENDS),
];

function cutTexts(response: IdempotencyStoredPayload, length: number): IdempotencyStoredPayload {
  const cut = (_key: string, value: unknown): unknown => (typeof value === 'string' ? value.slice(0, length) : value);

  return JSON.parse(JSON.stringify(response), cut) as IdempotencyStoredPayload;
}

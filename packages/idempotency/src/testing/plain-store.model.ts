import type { IdempotencyAcquireResult, IdempotencyStore, IdempotencyStoredPayload } from '../store.js';

export interface Entry {
  readonly fingerprint: string;
  /** Missing once it is completed. */
  readonly owner?: string | undefined;
  readonly response?: IdempotencyStoredPayload | undefined;
  readonly expiresAt: number;
}

/**
 * A store that keeps to the contract, cut into steps of which each can be replaced by a faulty one. Its steps look at
 * the table and change it without a pause, unless one is put between them.
 */
export class PlainStore implements IdempotencyStore {
  protected readonly entries = new Map<string, Entry>();

  async acquire(key: string, owner: string, fingerprint: string, lockTtl: number): Promise<IdempotencyAcquireResult> {
    const found = this.find(key);
    if (this.pauses('acquire')) await pause();
    if (found !== undefined) return this.view(found, fingerprint);

    this.put(key, { fingerprint, owner, expiresAt: this.endOf(lockTtl) });
    return { state: 'acquired' };
  }

  async complete(key: string, owner: string, response: IdempotencyStoredPayload, ttl: number): Promise<boolean> {
    const found = this.find(key);
    if (found === undefined || !this.mayChange('complete', found, owner)) return false;
    if (this.pauses('complete')) {
      this.entries.delete(this.nameOf(key));
      await pause();
    }

    const { fingerprint } = found;
    this.put(key, { fingerprint, response: this.copy(response), expiresAt: this.endOf(ttl) });
    return true;
  }

  async release(key: string, owner: string): Promise<boolean> {
    const found = this.find(key);
    if (found === undefined || !this.mayChange('release', found, owner)) return false;

    return this.entries.delete(this.nameOf(key));
  }

  async extend(key: string, owner: string, lockTtl: number): Promise<boolean> {
    const found = this.find(key);
    if (found === undefined || !this.mayChange('extend', found, owner)) return false;

    this.put(key, { ...found, expiresAt: this.endOf(lockTtl) });
    return true;
  }

  protected find(key: string): Entry | undefined {
    const found = this.entries.get(this.nameOf(key));

    return found !== undefined && this.isAlive(found) ? found : undefined;
  }

  protected put(key: string, entry: Entry): void {
    this.entries.set(this.nameOf(key), entry);
  }

  protected view(found: Entry, _fingerprint: string): IdempotencyAcquireResult {
    const { fingerprint, response } = found;

    return response === undefined
      ? { state: 'in-flight', fingerprint }
      : { state: 'completed', fingerprint, response: this.copy(response) };
  }

  protected pauses(_method: 'acquire' | 'complete'): boolean {
    return false;
  }

  protected nameOf(key: string): string {
    return key;
  }

  protected isAlive({ expiresAt }: Entry): boolean {
    return Date.now() < expiresAt;
  }

  protected endOf(ttl: number): number {
    return Date.now() + ttl;
  }

  protected mayChange(_method: 'complete' | 'release' | 'extend', found: Entry, owner: string): boolean {
    return found.owner === owner;
  }

  protected copy(response: IdempotencyStoredPayload): IdempotencyStoredPayload {
    return JSON.parse(JSON.stringify(response)) as IdempotencyStoredPayload;
  }
}

/** Long enough for everybody who started at the same moment to have looked. */
export async function pause(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

import { createBackoff, now } from 'holdfast/binding';
import { isDeepStrictEqual } from 'node:util';
import type { IdempotencyStoredPayload } from '../store.js';
import type { BoundedStore } from './bounded-store.js';
import type { CallReports } from './call-reports.js';
import type { KeyedCall } from './keyed-call.js';
import type { Lock } from './lock.js';
import { pause } from './pause.js';

/** A store that is back is found out soon, and one that stays away is not pressed. */
const backoff = createBackoff({ delay: 100, maxDelay: 5_000, jitter: 'equal' });

export interface OutcomeWriteParts {
  readonly call: KeyedCall;
  readonly lock: Lock;
  readonly store: BoundedStore;
  readonly reports: CallReports;
  /** What was kept by another way, in a transaction of which nobody here knows how it has ended. */
  readonly joined: IdempotencyStoredPayload | undefined;
}

/**
 * Writes the outcome of one call. What the handler has done cannot be undone, so that a store which fails is asked again
 * for as long as the lock may be held; the caller waits for the first try only.
 */
export class OutcomeWrite {
  constructor(private readonly parts: OutcomeWriteParts) {}

  /** Resolves when the caller may have its answer, with the rest of the work. */
  async write(payload: IdempotencyStoredPayload, status: number): Promise<{ readonly rest: Promise<void> }> {
    this.parts.lock.beginWrite();
    const rest = (await this.attempt(payload, status)) ? Promise.resolve() : this.insist(payload, status);

    return { rest };
  }

  private async insist(payload: IdempotencyStoredPayload, status: number): Promise<void> {
    for (let failed = 1; ; failed += 1) {
      await pause(backoff.delayMs(failed, undefined));
      if (!this.parts.lock.canBeHeld) {
        this.parts.lock.letGo();
        return this.parts.reports.lockLost('complete', 'the outcome could not be stored');
      }
      if (await this.attempt(payload, status)) return;
    }
  }

  /** Returns whether there is nothing left to try. */
  private async attempt(payload: IdempotencyStoredPayload, status: number): Promise<boolean> {
    const since = now();
    try {
      const stored = (await this.complete(payload)) || (await this.isStoredAfterAll(payload));
      this.parts.lock.letGo();
      if (stored) this.parts.reports.stored(status, now() - since);
      else this.parts.reports.lockLost('complete', 'the lock was lost, so that the outcome is not stored');
      return true;
    } catch (error) {
      this.parts.reports.storeFailed('complete', error, now() - since);
      return false;
    }
  }

  private complete(payload: IdempotencyStoredPayload): Promise<boolean> {
    return this.parts.store.complete(
      this.parts.call.recordKey,
      this.parts.lock.owner,
      payload,
      this.parts.call.settings.ttl,
    );
  }

  /**
   * The lock is not there any more: an earlier try may have been written although nobody heard of it; or the lock has
   * expired, and as long as nobody else has taken the key, the outcome belongs there.
   */
  private async isStoredAfterAll(payload: IdempotencyStoredPayload): Promise<boolean> {
    const found = await this.parts.store.acquire(this.parts.lock.claim);
    if (found.state === 'acquired') return this.complete(payload);

    if (found.state !== 'completed') return false;
    const { joined } = this.parts;
    return isDeepStrictEqual(found.response, payload) || isDeepStrictEqual(found.response, joined);
  }
}

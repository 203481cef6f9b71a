import { createBackoff, now } from 'holdfast/binding';
import { isSamePayload } from '../record/same-payload.js';
import type { IdempotencyStoredPayload } from '../store.js';
import type { BoundedStore } from './bounded-store.js';
import type { CallReports } from './call-reports.js';
import type { KeyedCall } from './keyed-call.js';
import type { Lock } from './lock.js';
import { atMost, pause } from './pause.js';

/** A store that is back is found out soon, and one that stays away is not pressed. */
const backoff = createBackoff({ delay: 100, maxDelay: 5_000, jitter: 'equal' });

export interface OutcomeWriteParts {
  readonly call: KeyedCall;
  readonly lock: Lock;
  readonly store: BoundedStore;
  readonly reports: CallReports;
}

/**
 * Writes the outcome of one call. What the handler has done cannot be undone, so that a store which fails is asked again
 * for as long as the lock may be held; the caller waits for the first try only.
 */
export class OutcomeWrite {
  /** Whether a try has failed: what it was to do may have been done all the same, or may be at any time. */
  private uncertain = false;

  constructor(private readonly parts: OutcomeWriteParts) {}

  /** Resolves when the caller may have its answer, with the rest of the work. */
  async write(payload: IdempotencyStoredPayload, status: number): Promise<{ readonly rest: Promise<void> }> {
    const { lock, store } = this.parts;
    lock.beginWrite();
    const first = this.attempt(payload, status);
    // Several calls of the store may be needed, of which each has its own limit.
    await atMost(store.timeoutMs, first);

    return { rest: first.then((done) => (done ? undefined : this.insist(payload, status))) };
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
      this.uncertain = true;
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
    const { lock, store } = this.parts;
    const found = await store.reacquire(lock.claim);
    if (found.state === 'acquired') {
      lock.resume();
      return this.complete(payload);
    }
    // The lock there may be one's own, taken by an earlier try.
    if (found.state === 'in-flight') return (this.uncertain || lock.mayBeRetaken) && this.complete(payload);

    return (this.uncertain && isSamePayload(found.response, payload)) || lock.isJoined(found.response);
  }
}

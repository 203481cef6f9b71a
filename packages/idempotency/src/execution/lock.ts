import { now } from 'holdfast/binding';
import { randomUUID } from 'node:crypto';
import { LONGEST_TIMER_MS } from '../settings.js';
import type { BoundedStore, LockClaim } from './bounded-store.js';
import type { CallReports } from './call-reports.js';
import type { KeyedCall } from './keyed-call.js';

/** The reason that the signal of a handler aborts with when its key is not its own any more. */
export class IdempotencyLockLostError extends Error {
  override readonly name = 'IdempotencyLockLostError';
  readonly code = 'IDEMPOTENCY_LOCK_LOST';

  constructor(handler: string) {
    super(`${handler} has lost the lock of its idempotency key: another call may run it now`);
  }
}

/** As long as a lock is renewed this often within its life, one beat may fail. */
const BEATS = 3;

/** What a process that is going away still claims for its calls: they cannot outlive it by more. */
const LAST_LOCK_MS = 5_000;

/** The lock of one key, kept alive for as long as its call needs it. */
export class Lock {
  /** Whoever knows it holds the lock: a fencing token. */
  readonly owner = randomUUID();
  private readonly gone = new AbortController();
  private timer: NodeJS.Timeout | undefined = undefined;
  private extending = false;
  private kept = false;
  private writing = false;
  private heldSince = 0;
  private ttlMs: number;

  constructor(
    private readonly call: KeyedCall,
    private readonly store: BoundedStore,
    private readonly reports: CallReports,
  ) {
    this.ttlMs = call.settings.lockTtl;
  }

  /** Aborts when the store says that somebody else may have the key. */
  get signal(): AbortSignal {
    return this.gone.signal;
  }

  get claim(): LockClaim {
    const { recordKey: key, fingerprint } = this.call;

    return { key, owner: this.owner, fingerprint, lockTtl: this.ttlMs };
  }

  /** Renews it from now on. */
  keep(): void {
    this.kept = true;
    this.heldSince = now();
    this.schedule();
  }

  /** The handler has ended: from here on it is held for the outcome, which gets as long as the handler may have. */
  beginWrite(): void {
    this.writing = true;
    this.heldSince = now();
  }

  get canBeHeld(): boolean {
    return this.heldForMs < this.call.settings.maxLockHold;
  }

  /** Lets it expire when its time is over. */
  letGo(): void {
    this.kept = false;
    clearTimeout(this.timer);
  }

  /** Its process is about to go: should it die now, others need not wait for long. */
  shorten(): void {
    if (!this.kept || this.ttlMs <= LAST_LOCK_MS) return;

    this.ttlMs = LAST_LOCK_MS;
    clearTimeout(this.timer);
    void this.extend();
    this.schedule();
  }

  private get heldForMs(): number {
    return now() - this.heldSince;
  }

  private schedule(): void {
    const beat = Math.max(1, Math.floor(this.ttlMs / BEATS));
    const left = Math.ceil(this.call.settings.maxLockHold - this.heldForMs);
    this.timer = setTimeout(() => this.beat(), Math.min(beat, Math.max(left, 1), LONGEST_TIMER_MS));
    this.timer.unref();
  }

  private beat(): void {
    if (!this.kept) return;
    if (!this.canBeHeld) return this.stopHolding();

    this.schedule();
    // A slow store is not asked again before it has answered.
    if (!this.extending) void this.extend();
  }

  private async extend(): Promise<void> {
    this.extending = true;
    const since = now();
    try {
      const { key, owner, lockTtl } = this.claim;
      if (!(await this.store.extend(key, owner, lockTtl)) && this.kept) this.lose();
    } catch (error) {
      if (this.kept) this.reports.storeFailed('extend', error, now() - since);
    } finally {
      this.extending = false;
    }
  }

  private lose(): void {
    this.letGo();
    // The outcome may have been written meanwhile: whoever writes it finds out.
    if (this.writing) return;

    this.reports.lockLost('extend', 'the lock was lost while the handler was running');
    this.gone.abort(new IdempotencyLockLostError(this.call.handler));
  }

  private stopHolding(): void {
    this.letGo();
    if (this.writing) return;

    const { maxLockHold } = this.call.settings;
    this.reports.warn(
      `the handler runs for longer than maxLockHold (${maxLockHold}ms), and its lock is not renewed any more`,
    );
  }
}

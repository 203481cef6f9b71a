import { now } from 'holdfast/binding';
import { isSamePayload } from '../record/same-payload.js';
import { LONGEST_TIMER_MS } from '../settings.js';
import type { IdempotencyAcquireResult, IdempotencyStoredPayload } from '../store.js';
import { beatMs, type BoundedStore, type LockClaim } from './bounded-store.js';
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

/** What a process that is going away still claims for its calls: they cannot outlive it by more. */
const LAST_LOCK_MS = 5_000;

/** One that hangs, as on a connection that died in silence, must not cost the lock; a store that is away is not pressed. */
const MOST_RENEWALS = 2;

export interface LockParts {
  readonly call: KeyedCall;
  readonly store: BoundedStore;
  readonly reports: CallReports;
}

/** The lock of one key, kept alive for as long as its call needs it. */
export class Lock {
  private readonly gone = new AbortController();
  private timer: NodeJS.Timeout | undefined = undefined;
  /** Renewals that the store has not answered yet. */
  private extending = 0;
  private skipped = false;
  private kept = false;
  private writing = false;
  private heldSince = 0;
  private retaking = false;
  private retakes = 0;
  private joined: IdempotencyStoredPayload | undefined = undefined;
  private ttlMs: number;

  /** @param taken What the store has granted. */
  constructor(
    private readonly taken: LockClaim,
    private readonly parts: LockParts,
  ) {
    this.ttlMs = taken.lockTtl;
  }

  /** Whoever knows it holds the lock: a fencing token. */
  get owner(): string {
    return this.taken.owner;
  }

  /** Aborts when the store says that somebody else may have the key. */
  get signal(): AbortSignal {
    return this.gone.signal;
  }

  get claim(): LockClaim {
    return { ...this.taken, lockTtl: this.ttlMs };
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

  /**
   * A transaction that is still open has made a record of it. Until its end, renewals wait; after a commit there is
   * nothing left to renew, and nothing was lost.
   */
  join(record: IdempotencyStoredPayload): void {
    this.joined = record;
  }

  /** Whether it had run out, and was asked for anew: what is found in its place may be itself. */
  get mayBeRetaken(): boolean {
    return this.retakes > 0;
  }

  /** Whether this is what the transaction has made of it. */
  isJoined(found: IdempotencyStoredPayload): boolean {
    return this.joined !== undefined && isSamePayload(found, this.joined);
  }

  /** It had expired and was taken anew for the outcome. */
  resume(): void {
    if (this.kept) return;

    this.kept = true;
    this.schedule();
  }

  get canBeHeld(): boolean {
    return this.heldForMs < this.maxHoldMs;
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
    this.schedule();
    // The short time has to come last.
    if (this.extending > 0) this.skipped = true;
    else void this.extend();
  }

  private get maxHoldMs(): number {
    return this.parts.call.settings.maxLockHold;
  }

  private get heldForMs(): number {
    return now() - this.heldSince;
  }

  private schedule(): void {
    const left = Math.ceil(this.maxHoldMs - this.heldForMs);
    this.timer = setTimeout(() => this.beat(), Math.min(beatMs(this.ttlMs), Math.max(left, 1), LONGEST_TIMER_MS));
    this.timer.unref();
  }

  private beat(): void {
    if (!this.kept) return;
    if (!this.canBeHeld) return this.stopHolding();

    this.schedule();
    if (this.extending === MOST_RENEWALS || this.retaking) this.skipped = true;
    else void this.extend();
  }

  private async extend(): Promise<void> {
    this.extending += 1;
    const since = now();
    const { retakes } = this;
    try {
      const { key, owner, lockTtl } = this.claim;
      const isHeld = await this.parts.store.extend(key, owner, lockTtl);
      // What was asked before the lock was taken anew says nothing of that one.
      if (!isHeld && this.kept && this.retakes === retakes) await this.retake();
    } catch (error) {
      if (this.kept) this.parts.reports.storeFailed('extend', error, now() - since);
    } finally {
      this.extending -= 1;
    }
    if (!this.skipped || !this.kept) return;

    // By the next beat the lock might have expired.
    this.skipped = false;
    void this.extend();
  }

  /**
   * It is not there any more. When it has only run out, as while the event loop was held, nobody else need have the key:
   * to stop the handler then would have its work done a second time.
   */
  private async retake(): Promise<void> {
    // The outcome may have been written meanwhile: whoever writes it finds out.
    if (this.writing) return this.letGo();

    this.retakes += 1;
    this.retaking = true;
    try {
      const found = await this.reacquire();
      if (found === undefined) return;
      if (found.state === 'acquired') await this.resumeOrFree();
      else if (found.state === 'completed' && this.isJoined(found.response)) this.letGo();
      else if (this.kept && !(await this.isTakenByEarlierTry())) this.lose();
    } finally {
      this.retaking = false;
    }
  }

  /** `undefined` when the store has failed: the next renewal comes back to it. */
  private async reacquire(): Promise<IdempotencyAcquireResult | undefined> {
    const { store, reports } = this.parts;
    const since = now();
    try {
      return await store.reacquire(this.claim);
    } catch (error) {
      if (this.kept) reports.storeFailed('acquire', error, now() - since);
      return undefined;
    }
  }

  /** One that failed may have been done later, and then it is this lock that is found. */
  private async isTakenByEarlierTry(): Promise<boolean> {
    const { key, owner, lockTtl } = this.claim;

    return this.retakes > 1 && (await this.parts.store.extend(key, owner, lockTtl));
  }

  /** Its call may have ended while the lock was on its way. */
  private async resumeOrFree(): Promise<void> {
    if (this.kept) return this.parts.reports.warn('the lock had run out before it was renewed, and was taken anew');

    await this.parts.store.release(this.taken.key, this.owner).catch(() => {});
  }

  private lose(): void {
    // Its call may have ended while it was looked for, and has given it back.
    if (!this.kept) return;

    this.letGo();
    if (this.writing) return;

    const { reports, call } = this.parts;
    reports.lockLost('extend', 'the lock was lost while the handler was running');
    this.gone.abort(new IdempotencyLockLostError(call.handler));
  }

  private stopHolding(): void {
    this.letGo();
    if (this.writing) return;

    this.parts.reports.warn(
      `the handler runs for longer than maxLockHold (${this.maxHoldMs}ms), and its lock is not renewed any more`,
    );
  }
}

import { kindOf, now, show } from 'holdfast/binding';
import type { IdempotencyAcquireResult, IdempotencyStore, IdempotencyStoredPayload } from '../store.js';

export type StoreMethod = keyof IdempotencyStore;

/** A call of the store that did not answer in time. What it was to do may happen all the same. */
export class IdempotencyStoreTimeoutError extends Error {
  override readonly name = 'IdempotencyStoreTimeoutError';

  constructor(
    readonly method: StoreMethod,
    /** Milliseconds. */
    readonly timeout: number,
  ) {
    super(`The idempotency store did not answer ${method}() within ${timeout}ms`);
  }
}

/** A lock that was granted when its time was over: by now somebody else may have the key. */
export class LateLockError extends Error {
  constructor(lockTtl: number, tookMs: number) {
    super(
      `The idempotency store granted a lock of ${lockTtl}ms after ${Math.round(tookMs)}ms, when it was over: ` +
        'lockTtl is too short for this store',
    );
    this.name = 'LateLockError';
  }
}

/** A timer that comes later than this was held up, and so may have been the answer that it waits for. */
const LATE_MS = 50;

/**
 * The store, as far as it can be relied on: no call of it takes longer than the limit or throws at once, and what it
 * answers is an answer.
 */
export class BoundedStore {
  constructor(
    private readonly source: () => IdempotencyStore,
    readonly timeoutMs: number,
  ) {}

  /**
   * Of a call that fails, no lock stays behind, as far as anybody can reach the store.
   *
   * @throws LateLockError when the lock was over before anybody could hold it.
   */
  async acquire(claim: LockClaim): Promise<IdempotencyAcquireResult> {
    const since = now();
    const asked = this.ask(claim);
    try {
      const found = requireResult(await this.inTime('acquire', asked));
      // By when the answer came, the time of the lock may have been over.
      const isFresh = now() - since < beatMs(claim.lockTtl);
      if (found.state !== 'acquired' || isFresh || (await this.isAlive(claim))) return found;
    } catch (error) {
      this.withdraw(claim, asked, error);
      throw error;
    }

    throw new LateLockError(claim.lockTtl, now() - since);
  }

  /** As `acquire()`, for an owner to whom the lock is welcome whenever it comes. */
  async reacquire(claim: LockClaim): Promise<IdempotencyAcquireResult> {
    return requireResult(await this.inTime('acquire', this.ask(claim)));
  }

  complete(...given: Parameters<IdempotencyStore['complete']>): Promise<boolean> {
    return this.decide('complete', () => this.source().complete(...given));
  }

  release(key: string, owner: string): Promise<boolean> {
    return this.decide('release', () => this.source().release(key, owner));
  }

  extend(key: string, owner: string, lockTtl: number): Promise<boolean> {
    return this.decide('extend', () => this.source().extend(key, owner, lockTtl));
  }

  private ask({ key, owner, fingerprint, lockTtl }: LockClaim): Promise<IdempotencyAcquireResult> {
    return settled(() => this.source().acquire(key, owner, fingerprint, lockTtl));
  }

  private isAlive({ key, owner, lockTtl }: LockClaim): Promise<boolean> {
    return this.extend(key, owner, lockTtl);
  }

  private async decide(method: StoreMethod, ask: () => Promise<boolean>): Promise<boolean> {
    const answer: unknown = await this.inTime(method, settled(ask));
    if (typeof answer === 'boolean') return answer;

    throw new Error(`The idempotency store answered ${method}() with ${kindOf(answer)}. Expected true or false.`);
  }

  /** The lock may have been taken although nobody was told, or may be taken any time from now on. */
  private withdraw({ key, owner }: LockClaim, asked: Promise<IdempotencyAcquireResult>, error: unknown): void {
    const free = (): void => void settled(() => this.source().release(key, owner)).catch(() => {});
    free();
    if (!(error instanceof IdempotencyStoreTimeoutError) || error.method !== 'acquire') return;

    // What fails late may have been done before, and after the first release.
    asked.then(requireResult).then(({ state }) => state === 'acquired' && free(), free);
  }

  private inTime<T>(method: StoreMethod, asked: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const dueAt = now() + this.timeoutMs;
      const giveUp = (): void => reject(new IdempotencyStoreTimeoutError(method, this.timeoutMs));
      const timer = setTimeout(() => {
        // An answer that has arrived while the event loop was held is read before it is called late.
        if (now() - dueAt > LATE_MS) setImmediate(giveUp);
        else giveUp();
      }, this.timeoutMs);
      timer.unref();
      asked.then(
        (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(error as Error);
        },
      );
    });
  }
}

/** As long as a lock is renewed this often within its life, one beat may fail. */
const BEATS = 3;

/** How long after it was taken or renewed a lock is renewed again. */
export function beatMs(lockTtl: number): number {
  return Math.max(1, Math.floor(lockTtl / BEATS));
}

/** What is asked for when a lock is to be taken. */
export interface LockClaim {
  readonly key: string;
  readonly owner: string;
  readonly fingerprint: string;
  readonly lockTtl: number;
}

/** A store may throw where it should reject, and may answer without a promise. */
function settled<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return Promise.resolve(ask());
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

function requireResult(answer: unknown): IdempotencyAcquireResult {
  const { state, fingerprint, response } = (typeof answer === 'object' && answer !== null ? answer : {}) as Readonly<
    Record<string, unknown>
  >;
  if (state === 'acquired') return { state };
  if (typeof fingerprint === 'string') {
    if (state === 'in-flight') return { state, fingerprint };
    // Whether it can be read is for others to find out.
    if (state === 'completed') return { state, fingerprint, response: response as IdempotencyStoredPayload };
  }

  throw new Error(
    `The idempotency store answered acquire() with ${kindOf(answer)}, state ${show(state)}, fingerprint ` +
      `${show(fingerprint)}. Expected { state: 'acquired' | 'in-flight' | 'completed' }, the last two with a fingerprint.`,
  );
}

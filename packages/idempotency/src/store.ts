/** An answer as it is kept: plain JSON, from which a replay is made. */
export interface IdempotencyStoredResponse {
  /** The HTTP status; 200 for a success over GraphQL and messages. */
  readonly status: number;
  /** Names in lower case. Empty but for HTTP. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The value that the handler returned or the payload of its error; missing where there was none. */
  readonly body?: unknown;
  /** Of which kind the error was that the handler ended with; missing for a success. */
  readonly error?: 'http' | 'rpc' | 'graphql';
  /** Headers that say what is missing in the answer, in place of those of whole answers; none of an answer that is whole. */
  readonly degraded?: Readonly<Record<string, string | readonly string[]>>;
}

/** An answer that only a holder of the key can read. */
export interface IdempotencySealedResponse {
  /** `v1.<key id>.<iv>.<ciphertext>.<tag>`, the last three in base64url. */
  readonly sealed: string;
}

/** What a store keeps of an answer. It never looks inside. */
export type IdempotencyStoredPayload = IdempotencyStoredResponse | IdempotencySealedResponse;

/** What a store has found under a key. */
export type IdempotencyAcquireResult =
  /** Nothing: the caller holds the lock now. */
  | { readonly state: 'acquired' }
  /** A lock that is alive, the caller's own too; with the fingerprint of its holder. */
  | { readonly state: 'in-flight'; readonly fingerprint: string }
  /** A record that is alive, with an equal copy of the answer. */
  | { readonly state: 'completed'; readonly fingerprint: string; readonly response: IdempotencyStoredPayload };

/**
 * Keeps locks and answers under keys. Every method may be called by several processes at the same moment.
 *
 * A key is any text of Unicode, several hundred characters long; case counts, and no two keys are the same. A lock or a
 * record is alive until its time is over; from that very millisecond on it does not exist, deleted or not. Times are
 * whole milliseconds, at least 1, up to several weeks. `idempotencyStoreContract()` of `@nestjs/idempotency/testing`
 * checks all of this.
 */
export interface IdempotencyStore {
  /**
   * Takes the lock of a key on which there is nothing alive, in one atomic step; otherwise tells what is there and changes
   * nothing. Of any number of callers at once, one gets it.
   *
   * @param owner A random UUID, another for each call that is protected: whoever knows it holds the lock.
   * @param lockTtl After so many milliseconds without `extend()` the key is free again.
   */
  acquire(key: string, owner: string, fingerprint: string, lockTtl: number): Promise<IdempotencyAcquireResult>;

  /**
   * Makes a record of the owner's living lock, which lives for `ttl` milliseconds and is never changed again. `false`:
   * the lock is not the owner's any more, and nothing was changed.
   */
  complete(key: string, owner: string, response: IdempotencyStoredPayload, ttl: number): Promise<boolean>;

  /** Frees the key of the owner's living lock. `false`: there is none, and nothing was changed. */
  release(key: string, owner: string): Promise<boolean>;

  /** Lets the owner's living lock live for `lockTtl` milliseconds from now. `false`: there is none, nothing was changed. */
  extend(key: string, owner: string, lockTtl: number): Promise<boolean>;
}

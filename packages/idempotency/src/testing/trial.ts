import { deepStrictEqual, fail, strictEqual } from 'node:assert';
import { createHash, randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import type { IdempotencyAcquireResult, IdempotencyStore, IdempotencyStoredPayload } from '../store.js';

export interface TrialTiming {
  /** Lets so many milliseconds pass. */
  readonly pass: (milliseconds: number) => unknown;
  /** Whether time stands still but for `pass`, so that the very end of a lock can be met. */
  readonly exact: boolean;
  readonly lockTime: number;
}

/** A store on trial: its keys, its times, and calls whose answers are checked before anybody looks at them. */
export class Trial {
  /** Milliseconds for which a lock lives where a case waits for its end. */
  readonly lockTime: number;
  /** Milliseconds for which a record lives where a case waits for its end. */
  readonly recordTime: number;
  /** A long time for cases that do not wait, and that leave nothing behind for ever. */
  readonly longTime = 600_000;
  /** Milliseconds by which a slow store may be late without failing. */
  readonly margin: number;
  readonly #prefix = `contract-${randomUUID()}`;

  constructor(
    private readonly store: IdempotencyStore,
    private readonly timing: TrialTiming,
  ) {
    this.lockTime = timing.lockTime;
    this.margin = Math.floor(timing.lockTime / 4);
    this.recordTime = timing.lockTime * 3;
  }

  /** A key of this trial alone. */
  key(name = randomUUID() as string): string {
    return `${this.#prefix}:${name}`;
  }

  /** A call under a key; by default it is a retry of nothing, with a fingerprint of its own. */
  caller(key: string, fingerprint = hashOf(randomUUID())): Caller {
    return new Caller(this.store, { key, fingerprint, lockTtl: this.longTime });
  }

  /** Callers that all want the same key. */
  callers(count: number, key: string): readonly Caller[] {
    return Array.from({ length: count }, () => this.caller(key));
  }

  /** To just before the end of something that lives for `ttl` and has begun now. */
  async nearEndOf(ttl: number): Promise<void> {
    await this.timing.pass(ttl - this.margin);
  }

  /** From there past the end; where time is moved by hand, to the very millisecond of it. */
  async pastEnd(): Promise<void> {
    await this.timing.pass(this.timing.exact ? this.margin : this.margin * 2);
  }

  /** Into the life of something that nobody can wait for: to near its end where time is moved by hand. */
  async intoTheLifeOf(ttl: number): Promise<void> {
    await this.timing.pass(this.timing.exact ? ttl - this.margin : this.margin);
  }

  /** The whole of `ttl`, and past its end. */
  async through(ttl: number): Promise<void> {
    await this.timing.pass(this.timing.exact ? ttl : ttl + this.margin);
  }
}

interface Wanted {
  readonly key: string;
  readonly fingerprint: string;
  readonly lockTtl: number;
}

/** One owner who calls the store, and states what it must answer. */
export class Caller {
  readonly owner: string = randomUUID();
  readonly key: string;
  readonly fingerprint: string;
  readonly #lockTtl: number;
  readonly #store: IdempotencyStore;

  constructor(store: IdempotencyStore, { key, fingerprint, lockTtl }: Wanted) {
    this.#store = store;
    this.key = key;
    this.fingerprint = fingerprint;
    this.#lockTtl = lockTtl;
  }

  async acquire(lockTtl = this.#lockTtl): Promise<IdempotencyAcquireResult> {
    const answer = this.#store.acquire(this.key, this.owner, this.fingerprint, lockTtl);
    refuseNoPromise(answer, 'acquire');
    const result: unknown = await answer;
    refuseOtherShape(result);

    return result;
  }

  complete(response: IdempotencyStoredPayload, ttl = this.#lockTtl): Promise<boolean> {
    return decided('complete', this.#store.complete(this.key, this.owner, response, ttl));
  }

  release(): Promise<boolean> {
    return decided('release', this.#store.release(this.key, this.owner));
  }

  extend(lockTtl = this.#lockTtl): Promise<boolean> {
    return decided('extend', this.#store.extend(this.key, this.owner, lockTtl));
  }

  async takes(when: string, lockTtl = this.#lockTtl): Promise<void> {
    deepStrictEqual(await this.acquire(lockTtl), { state: 'acquired' }, `acquire() ${when} must take the lock`);
  }

  async findsLockOf(holder: Caller, when: string): Promise<void> {
    const expected = { state: 'in-flight', fingerprint: holder.fingerprint };
    const message = `acquire() ${when} must find the lock, with the fingerprint that its holder gave`;
    deepStrictEqual(await this.acquire(), expected, message);
  }

  async findsRecordOf(author: Caller, response: IdempotencyStoredPayload, when: string): Promise<void> {
    const expected = { state: 'completed', fingerprint: author.fingerprint, response };
    const message = `acquire() ${when} must find the record, with its own fingerprint and an equal answer`;
    deepStrictEqual(await this.acquire(), expected, message);
  }

  async completes(response: IdempotencyStoredPayload, when: string, ttl = this.#lockTtl): Promise<void> {
    strictEqual(await this.complete(response, ttl), true, `complete() ${when} must resolve to true`);
  }

  async releases(when: string): Promise<void> {
    strictEqual(await this.release(), true, `release() ${when} must resolve to true`);
  }

  async extends(when: string, lockTtl = this.#lockTtl): Promise<void> {
    strictEqual(await this.extend(lockTtl), true, `extend() ${when} must resolve to true`);
  }

  /** Tries everything that only the owner of a living lock may do. */
  async mayDoNothing(when: string): Promise<void> {
    strictEqual(await this.extend(), false, `extend() ${when} must resolve to false`);
    strictEqual(await this.complete(answerOf('intruder')), false, `complete() ${when} must resolve to false`);
    strictEqual(await this.release(), false, `release() ${when} must resolve to false`);
  }
}

/** A plain answer; equal texts make equal answers. */
export function answerOf(text: string): IdempotencyStoredPayload {
  return { status: 201, headers: { location: `/orders/${text}` }, body: { order: text } };
}

async function decided(method: string, answer: Promise<boolean>): Promise<boolean> {
  refuseNoPromise(answer, method);
  const decision: unknown = await answer;
  if (typeof decision !== 'boolean') fail(`${method}() must resolve to true or false, got ${inspect(decision)}`);

  return decision;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function refuseNoPromise(answer: unknown, method: string): void {
  const isThenable = typeof (answer as PromiseLike<unknown> | undefined)?.then === 'function';
  if (!isThenable) fail(`${method}() must return a promise, got ${inspect(answer)}`);
}

function refuseOtherShape(result: unknown): asserts result is IdempotencyAcquireResult {
  const { state, fingerprint, response } = (result ?? {}) as Readonly<Record<string, unknown>>;
  const isKnown =
    state === 'acquired' ||
    (typeof fingerprint === 'string' &&
      (state === 'in-flight' || (state === 'completed' && typeof response === 'object' && response !== null)));
  if (!isKnown) fail(`acquire() must resolve to one of the three results of IdempotencyStore, got ${inspect(result)}`);
}

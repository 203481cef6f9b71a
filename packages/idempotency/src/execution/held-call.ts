import { ambientScope, now, runInScope } from 'holdfast/binding';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IdempotencyReleasedEvent } from '../idempotency.events.js';
import type { RecordCodec } from '../record/record-codec.js';
import { encodeValue } from '../record/stored-value.js';
import type { IdempotencyStore, IdempotencyStoredPayload, IdempotencyStoredResponse } from '../store.js';
import type { BoundedStore } from './bounded-store.js';
import type { CallReports } from './call-reports.js';
import type { Choice } from './choice.js';
import type { KeyedCall } from './keyed-call.js';
import { IdempotencyLockLostError, type Lock } from './lock.js';
import { OutcomeWrite } from './outcome-write.js';

export interface HeldCallParts {
  readonly store: BoundedStore;
  readonly codec: RecordCodec;
  readonly reports: CallReports;
}

const SUCCESS = 200;

/** Of work that is no request. */
export function capturePlainly(value: unknown): IdempotencyStoredResponse {
  const body = encodeValue(value);

  return { status: SUCCESS, headers: {}, ...(body === undefined ? {} : { body }) };
}

const current = new AsyncLocalStorage<HeldCall>();

/** Makes the answer that is kept of what a handler would return. */
export type Capture = (value: unknown) => IdempotencyStoredResponse | Promise<IdempotencyStoredResponse>;

const NONE: readonly HeldCall[] = [];

function runningAround(): readonly HeldCall[] {
  return currentCall()?.running ?? NONE;
}

/** The call that the running code belongs to. */
export function currentCall(): HeldCall | undefined {
  return current.getStore();
}

/** A call that holds the lock of its key: it ends with exactly one {@link settle}. */
export class HeldCall {
  /** Settles when nothing is left to do for it. */
  readonly over: Promise<void>;
  /** The calls that it was made from, as far as they run. */
  private around = runningAround();
  private hasEnded = false;
  private joined: IdempotencyStoredResponse | undefined = undefined;
  private capture: Capture = capturePlainly;
  private end!: (rest?: Promise<void>) => void;

  constructor(
    readonly call: KeyedCall,
    readonly lock: Lock,
    private readonly parts: HeldCallParts,
  ) {
    this.over = new Promise((resolve) => (this.end = resolve));
    this.lock.keep();
  }

  /** Whether it holds this key, or runs inside of one that does: to wait there for the key is to wait for oneself. */
  holds(recordKey: string, store: BoundedStore): boolean {
    return this.running.some(({ call, parts }) => parts.store === store && call.recordKey === recordKey);
  }

  /** Itself and those around it, as far as they run. */
  get running(): readonly HeldCall[] {
    return [this, ...this.around].filter(({ hasEnded }) => !hasEnded);
  }

  get reports(): CallReports {
    return this.parts.reports;
  }

  /**
   * Runs the handler. Its ambient attempt aborts when the lock is lost.
   *
   * @param capture For what the handler keeps by itself.
   */
  async run<T>(work: () => Promise<T>, capture: Capture = capturePlainly): Promise<T> {
    this.capture = capture;
    const since = now();
    try {
      return await runInScope({ signal: this.lock.signal }, () => current.run(this, work));
    } finally {
      this.hasEnded = true;
      // What a call has begun may begin others, without an end.
      this.around = NONE;
      this.reports.executed(now() - since);
    }
  }

  /** Resolves, and never rejects, when the caller may have its answer. */
  settle(choice: Choice): Promise<void> {
    return 'keep' in choice ? this.keepOutcome(choice.keep) : this.free(choice.free);
  }

  /** Keeps an outcome for calls to come. */
  private async keepOutcome(response: IdempotencyStoredResponse): Promise<void> {
    const { codec, store, reports } = this.parts;
    let payload: IdempotencyStoredPayload;
    try {
      payload = codec.write(this.call.recordKey, response);
    } catch (error) {
      reports.captureFailed(error);
      return this.free('unstorable');
    }

    const { call, lock } = this;
    const { rest } = await new OutcomeWrite({ call, lock, store, reports }).write(payload, response.status);
    this.end(rest);
  }

  /**
   * Keeps an outcome by way of another store on the same records, such as one that takes part in a transaction.
   *
   * @param value What the handler is going to return.
   * @throws IdempotencyLockLostError when somebody else may have the key: the transaction has to be rolled back.
   * @throws What the attempt that it is called from was given up with: the outcome is that of another one.
   */
  async keepValueIn(store: IdempotencyStore, value: unknown): Promise<void> {
    const { recordKey, settings, handler } = this.call;
    refuseGivenUp();
    // Whatever its outcome is, it is on its way.
    if (this.hasEnded) throw new IdempotencyLockLostError(handler);

    const response = await this.capture(value);
    const payload = this.parts.codec.write(recordKey, response);
    if (!(await store.complete(recordKey, this.lock.owner, payload, settings.ttl))) {
      throw new IdempotencyLockLostError(handler);
    }
    // It may have waited for the end of another transaction.
    refuseGivenUp();

    this.joined = response;
    this.lock.join(payload);
  }

  /** Gives the key back: the next call with it runs the handler. */
  private async free(reason: IdempotencyReleasedEvent['reason']): Promise<void> {
    const { store, reports } = this.parts;
    const since = now();
    this.lock.letGo();
    try {
      if (await store.release(this.call.recordKey, this.lock.owner)) reports.released(reason, now() - since);
      // Its transaction was committed before the handler failed: what was kept there holds.
      else if (this.joined !== undefined) reports.stored(this.joined.status, now() - since);
      else reports.lockLost('release', 'the lock was lost before the key was released');
    } catch (error) {
      reports.storeFailed('release', error, now() - since);
      reports.lockLost('release', 'the key could not be released and stays locked until lockTtl is over');
    } finally {
      this.end();
    }
  }
}

/** An attempt that runs on when its time is over would keep its outcome in place of that of the next one. */
function refuseGivenUp(): void {
  for (let scope = ambientScope(); scope !== undefined; scope = scope.outer) {
    if (scope.aborted) throw scope.signal.reason;
  }
}

import { createBackoff, currentScope, now } from 'holdfast/binding';
import { randomUUID } from 'node:crypto';
import type { IdempotencyEvents } from '../idempotency.events.js';
import type { RecordCodec } from '../record/record-codec.js';
import { decodeValue } from '../record/stored-value.js';
import type { IdempotencyStoredResponse } from '../store.js';
import { IdempotencyStoreFullError } from '../stores/store-full-error.js';
import { LateLockError, type BoundedStore, type LockClaim } from './bounded-store.js';
import { CallReports } from './call-reports.js';
import { currentCall, HeldCall } from './held-call.js';
import type { KeyedCall } from './keyed-call.js';
import { Lock } from './lock.js';
import { pause } from './pause.js';
import { IdempotencyRejectedError } from './rejection.js';
import type { RunningCalls } from './running-calls.js';
import { StoreOutage } from './store-outage.js';

/** What is to happen with a call that came with a key. */
export type Admission =
  /** The handler runs, under the lock of its key. */
  | { readonly kind: 'run'; readonly held: HeldCall }
  /** This answer takes its place; its body is as the handler had returned it. */
  | { readonly kind: 'replay'; readonly response: IdempotencyStoredResponse }
  /** The handler runs, and nobody remembers it. */
  | { readonly kind: 'unprotected' };

type Found = Admission | { readonly kind: 'busy' };

export interface KeyedCallsParts {
  readonly store: BoundedStore;
  readonly codec: RecordCodec;
  readonly events: IdempotencyEvents;
  readonly running: RunningCalls;
  readonly exposeKeys: boolean;
}

/** How often a duplicate that waits looks for the answer. */
const backoff = createBackoff({ delay: 50, factor: 1.5, maxDelay: 1_000, jitter: 'equal' });

/** Decides about calls with keys, on every transport alike. */
export class KeyedCalls {
  private readonly outage = new StoreOutage();
  private toldFull = false;

  constructor(private readonly parts: KeyedCallsParts) {}

  /**
   * @param hasLeft Whether nobody waits for the call any more. A lock may have been taken for it all the same.
   * @throws IdempotencyRejectedError when its handler must not run.
   */
  async admit(call: KeyedCall, hasLeft: () => boolean): Promise<Admission> {
    const { events, exposeKeys } = this.parts;
    const reports = new CallReports(call, { events, exposeKeys, outage: this.outage });
    const until = now() + patienceOf(call);
    try {
      for (let asked = 1; ; asked += 1) {
        const found = await this.ask(call, reports);
        if (found.kind !== 'busy') return found;
        if (currentCall()?.holds(call.recordKey, this.parts.store) === true) throw inUseByItself(call);
        // A process that is about to go leaves the waiting to the next one.
        const rest = this.parts.running.isClosing ? 0 : until - now();
        if (rest <= 0 || hasLeft()) throw inUse(call);
        await pause(Math.min(backoff.delayMs(asked, undefined), rest));
        if (hasLeft()) throw inUse(call);
      }
    } catch (error) {
      if (error instanceof IdempotencyRejectedError) reports.rejected(error);
      throw error;
    }
  }

  private async ask(call: KeyedCall, reports: CallReports): Promise<Found> {
    const { store, running, codec } = this.parts;
    const { recordKey: key, fingerprint, settings } = call;
    const claim: LockClaim = { key, owner: randomUUID(), fingerprint, lockTtl: settings.lockTtl };
    const since = now();
    try {
      const found = await store.acquire(claim);
      this.outage.answered();
      if (found.state === 'acquired') {
        const lock = new Lock(claim, { call, store, reports });
        return { kind: 'run', held: running.add(new HeldCall(call, lock, { store, codec, reports })) };
      }
      // Another call's answer is none of this one's business, whether it is there already or not.
      if (found.fingerprint !== call.fingerprint) throw reused();
      if (found.state === 'in-flight') return { kind: 'busy' };

      return { kind: 'replay', response: this.read(call, found.response, reports) };
    } catch (error) {
      if (error instanceof IdempotencyRejectedError) throw error;
      if (error instanceof LateLockError) {
        // Another call may run by now. Where that goes on, none ever runs, and somebody has to know why.
        reports.storeFailed('acquire', error, now() - since);
        return { kind: 'busy' };
      }
      return this.withoutStore(call, reports, { error, duration: now() - since });
    }
  }

  private read(call: KeyedCall, payload: unknown, reports: CallReports): IdempotencyStoredResponse {
    let response: IdempotencyStoredResponse;
    try {
      const { body, ...rest } = this.parts.codec.read(call.recordKey, payload);
      response = body === undefined ? rest : { ...rest, body: decodeValue(body) };
    } catch (error) {
      reports.unreadable(error);
      throw new IdempotencyRejectedError('IDEMPOTENCY_RECORD_UNREADABLE', 'The stored response cannot be read', {
        cause: error,
      });
    }

    reports.replayed(response.status);
    return response;
  }

  private withoutStore(
    call: KeyedCall,
    reports: CallReports,
    { error, duration }: { readonly error: unknown; readonly duration: number },
  ): Admission {
    if (error instanceof IdempotencyStoreFullError) {
      reports.storeFull(error, duration);
      this.warnFull(reports);
      return { kind: 'unprotected' };
    }

    reports.storeFailed('acquire', error, duration);
    if (call.settings.onStoreError === 'run') return { kind: 'unprotected' };

    throw new IdempotencyRejectedError('IDEMPOTENCY_STORE_UNAVAILABLE', 'Idempotency keys cannot be looked up', {
      retryAfterMs: call.settings.retryAfter,
      cause: error,
    });
  }

  /** Once: a store that is full stays so for a while, and is asked by every call. */
  private warnFull(reports: CallReports): void {
    if (this.toldFull) return;

    this.toldFull = true;
    reports.warn('the store is full, so this call and others run without protection until keys expire (told once)');
  }
}

/** How long a duplicate waits for the first call, in milliseconds. */
function patienceOf({ settings }: KeyedCall): number {
  if (settings.onInFlight === 'reject') return 0;

  return Math.min(settings.maxWait, currentScope()?.deadline?.remaining() ?? Infinity);
}

function inUse({ settings }: KeyedCall): IdempotencyRejectedError {
  return new IdempotencyRejectedError('IDEMPOTENCY_KEY_IN_USE', 'A call with this idempotency key is running', {
    retryAfterMs: settings.retryAfter,
  });
}

/** To come again later does not help, and neither does waiting. */
function inUseByItself({ handler }: KeyedCall): IdempotencyRejectedError {
  return new IdempotencyRejectedError(
    'IDEMPOTENCY_KEY_IN_USE',
    `The call of ${handler} with this idempotency key was made from inside of itself. Use another key there`,
  );
}

function reused(): IdempotencyRejectedError {
  return new IdempotencyRejectedError(
    'IDEMPOTENCY_KEY_REUSED',
    'This idempotency key was used for another request. Use a new one',
  );
}

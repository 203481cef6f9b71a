import { createBackoff, currentScope, now } from 'holdfast/binding';
import type { IdempotencyEvents } from '../idempotency.events.js';
import type { RecordCodec } from '../record/record-codec.js';
import { decodeValue } from '../record/stored-value.js';
import type { IdempotencyStoredResponse } from '../store.js';
import { IdempotencyStoreFullError } from '../stores/store-full-error.js';
import type { BoundedStore } from './bounded-store.js';
import { CallReports } from './call-reports.js';
import { HeldCall } from './held-call.js';
import type { KeyedCall } from './keyed-call.js';
import { Lock } from './lock.js';
import { pause } from './pause.js';
import { IdempotencyRejectedError } from './rejection.js';
import type { RunningCalls } from './running-calls.js';

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
  constructor(private readonly parts: KeyedCallsParts) {}

  /**
   * @param left Aborts when nobody waits for the call any more.
   * @throws IdempotencyRejectedError when its handler must not run.
   */
  async admit(call: KeyedCall, left: AbortSignal): Promise<Admission> {
    const reports = this.reportsOf(call);
    try {
      return await this.find(call, reports, left);
    } catch (error) {
      if (error instanceof IdempotencyRejectedError) reports.rejected(error);
      throw error;
    }
  }

  reportsOf(call: KeyedCall): CallReports {
    return new CallReports(call, this.parts.events, this.parts.exposeKeys);
  }

  private async find(call: KeyedCall, reports: CallReports, left: AbortSignal): Promise<Admission> {
    const { onInFlight, maxWait, retryAfter } = call.settings;
    const patience = onInFlight === 'wait' ? Math.min(maxWait, currentScope()?.deadline?.remaining() ?? Infinity) : 0;
    const until = now() + patience;
    for (let asked = 1; ; asked += 1) {
      const found = await this.ask(call, reports);
      if (found.kind !== 'busy') return found;
      const rest = until - now();
      if (rest <= 0 || left.aborted) {
        throw new IdempotencyRejectedError('IDEMPOTENCY_KEY_IN_USE', 'A call with this idempotency key is running', {
          retryAfterMs: retryAfter,
        });
      }
      await pause(Math.min(backoff.delayMs(asked, undefined), rest), left);
    }
  }

  private async ask(call: KeyedCall, reports: CallReports): Promise<Found> {
    const { store, running, codec } = this.parts;
    const lock = new Lock(call, store, reports);
    const since = now();
    try {
      const found = await store.acquire(lock.claim);
      if (found.state === 'acquired') {
        return { kind: 'run', held: running.add(new HeldCall(call, lock, { store, codec, reports })) };
      }
      // Another call's answer is none of this one's business, whether it is there already or not.
      if (found.fingerprint !== call.fingerprint) throw reused();
      if (found.state === 'in-flight') return { kind: 'busy' };

      return { kind: 'replay', response: this.read(call, found.response, reports) };
    } catch (error) {
      if (error instanceof IdempotencyRejectedError) throw error;
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
    reports.storeFailed('acquire', error, duration);
    // A store that is full works; it has said that it will not remember this call.
    if (error instanceof IdempotencyStoreFullError || call.settings.onStoreError === 'run') {
      return { kind: 'unprotected' };
    }

    throw new IdempotencyRejectedError('IDEMPOTENCY_STORE_UNAVAILABLE', 'Idempotency keys cannot be looked up', {
      retryAfterMs: call.settings.retryAfter,
      cause: error,
    });
  }
}

function reused(): IdempotencyRejectedError {
  return new IdempotencyRejectedError(
    'IDEMPOTENCY_KEY_REUSED',
    'This idempotency key was used for another request. Use a new one',
  );
}

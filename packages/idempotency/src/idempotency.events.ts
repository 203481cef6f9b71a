import { Injectable, Logger } from '@nestjs/common';
import { channel, type Channel } from 'node:diagnostics_channel';
import { Observable, Subject } from 'rxjs';
import { isolating } from 'holdfast/nest';

/** The codes of refusals. */
export type IdempotencyErrorCode =
  | 'IDEMPOTENCY_KEY_REQUIRED'
  | 'IDEMPOTENCY_KEY_INVALID'
  | 'IDEMPOTENCY_KEY_IN_USE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'IDEMPOTENCY_RECORD_UNREADABLE'
  | 'IDEMPOTENCY_SCOPE_MISSING'
  | 'IDEMPOTENCY_STORE_UNAVAILABLE';

interface CallFields {
  /** What was called: `http`, `graphql`, `rpc`, or `service` for `IdempotencyService.run()`. */
  readonly context: 'http' | 'graphql' | 'rpc' | 'service';
  /** `Class.method`, or the name that was given to the service. */
  readonly handler: string;
}

interface KeyFields extends CallFields {
  /** A hash of the client's key; the key itself with `exposeKeys`. */
  readonly key: string;
  readonly scope?: string;
}

/** The handler has ended, well or not, under the lock of its key. */
export interface IdempotencyExecutedEvent extends KeyFields {
  readonly type: 'executed';
  /** Milliseconds. */
  readonly duration: number;
}

/** A stored answer took the place of the handler. */
export interface IdempotencyReplayedEvent extends KeyFields {
  readonly type: 'replayed';
  readonly status: number;
}

/** A call was refused, and its handler did not run. */
export interface IdempotencyRejectedEvent extends CallFields {
  readonly type: 'rejected';
  /** Missing where there is none, or none that is valid. */
  readonly key?: string;
  readonly scope?: string;
  readonly code: IdempotencyErrorCode;
  readonly status: number;
}

/** An answer was kept. */
export interface IdempotencyStoredEvent extends KeyFields {
  readonly type: 'stored';
  readonly status: number;
  /** Milliseconds that the store took. */
  readonly duration: number;
}

/** A key was freed: the next call with it runs the handler again. */
export interface IdempotencyReleasedEvent extends KeyFields {
  readonly type: 'released';
  /**
   * Why nothing was kept: the outcome was not to be (`storeIf`), could not be (a stream, an answer that the handler sent
   * itself, none at all), was too large, or nobody waited for it when the handler was about to start.
   */
  readonly reason: 'outcome' | 'unstorable' | 'too-large' | 'unsubscribed';
  /** Milliseconds that the store took. */
  readonly duration: number;
}

/** Somebody else may run the handler under this key: told once for each call. */
export interface IdempotencyLockLostEvent extends KeyFields {
  readonly type: 'lock-lost';
  /** What the store has refused, or failed to do to the end. */
  readonly phase: 'extend' | 'complete' | 'release';
}

/** The store failed, was too slow, or answered what is no answer. */
export interface IdempotencyStoreErrorEvent extends KeyFields {
  readonly type: 'store-error';
  readonly method: 'acquire' | 'extend' | 'complete' | 'release';
  readonly error: unknown;
  /** Milliseconds until then. */
  readonly duration: number;
}

export type IdempotencyEvent =
  | IdempotencyExecutedEvent
  | IdempotencyReplayedEvent
  | IdempotencyRejectedEvent
  | IdempotencyStoredEvent
  | IdempotencyReleasedEvent
  | IdempotencyLockLostEvent
  | IdempotencyStoreErrorEvent;

const TYPES: readonly IdempotencyEvent['type'][] = [
  'executed',
  'replayed',
  'rejected',
  'stored',
  'released',
  'lock-lost',
  'store-error',
];

/** Held for good: Node forgets a channel that nobody holds, with whoever subscribes to it later. */
const channels = new Map<string, Channel>(TYPES.map((type) => [type, channel(`nestjs:idempotency:${type}`)]));

const IsolatedObservable = isolating(Observable, (error) =>
  new Logger('IdempotencyModule').error(
    'A subscriber of idempotency events failed (reported once)',
    error instanceof Error ? error.stack : error,
  ),
);

/** What happens to the keys of one application. */
@Injectable()
export class IdempotencyEvents {
  readonly #events = new Subject<IdempotencyEvent>();

  /**
   * Completes when the application has shut down. A subscriber that throws harms nobody: it is reported once, and goes on
   * receiving.
   */
  readonly events$: Observable<IdempotencyEvent> = new IsolatedObservable<IdempotencyEvent>((subscriber) =>
    this.#events.subscribe(subscriber),
  );

  /**
   * Whether anybody would be told.
   *
   * @internal
   */
  isHeard(type: IdempotencyEvent['type']): boolean {
    return this.#events.observed || channels.get(type)?.hasSubscribers === true;
  }

  /** Tells `events$`, and the diagnostics channel `nestjs:idempotency:<type>` if anybody listens there. */
  emit(event: IdempotencyEvent): void {
    const told = channels.get(event.type);
    if (told?.hasSubscribers === true) told.publish(event);
    this.#events.next(event);
  }

  /** @internal */
  close(): void {
    this.#events.complete();
  }
}

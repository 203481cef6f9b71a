import { Logger } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { IdempotencyEvent, IdempotencyEvents, IdempotencyReleasedEvent } from '../idempotency.events.js';
import type { KeyedCall } from './keyed-call.js';
import type { IdempotencyRejectedError } from './rejection.js';
import { IdempotencyStoreTimeoutError, type StoreMethod } from './bounded-store.js';

/** Fields of an event that all events of one call have in common. */
type Told<Type extends IdempotencyEvent['type']> = Omit<
  Extract<IdempotencyEvent, { readonly type: Type }>,
  'context' | 'handler' | 'key' | 'scope' | 'type'
>;

export const logger = new Logger('IdempotencyModule');

/** What is told about one call, in events and logs. */
export class CallReports {
  private lost = false;
  private readonly failed = new Set<StoreMethod>();
  private readonly shownKey: string;

  constructor(
    private readonly call: KeyedCall,
    private readonly events: IdempotencyEvents,
    exposeKeys: boolean,
  ) {
    this.shownKey = exposeKeys ? call.key : hashed(call.key);
  }

  executed(duration: number): void {
    this.tell('executed', { duration });
  }

  replayed(status: number): void {
    this.tell('replayed', { status });
  }

  rejected({ code, status }: IdempotencyRejectedError): void {
    this.tell('rejected', { code, status });
  }

  stored(status: number, duration: number): void {
    this.tell('stored', { status, duration });
  }

  released(reason: IdempotencyReleasedEvent['reason'], duration: number): void {
    this.tell('released', { reason, duration });
  }

  /** A store that is asked again and again is logged once for each call. */
  storeFailed(method: StoreMethod, error: unknown, duration: number): void {
    this.tell('store-error', { method, error, duration });
    if (this.failed.has(method)) return;

    this.failed.add(method);
    logger.error(
      `${this.place}: the store failed in ${method}()`,
      error instanceof Error && !(error instanceof IdempotencyStoreTimeoutError) ? error.stack : String(error),
    );
  }

  /** Somebody else may run this handler for the same key: told once. */
  lockLost(phase: Told<'lock-lost'>['phase'], because: string): void {
    if (this.lost) return;

    this.lost = true;
    logger.warn(`${this.place}: ${because}. The handler may run again for this key.`);
    this.tell('lock-lost', { phase });
  }

  warn(message: string): void {
    logger.warn(`${this.place}: ${message}`);
  }

  /** What an application's own code threw where its answer was looked at. */
  captureFailed(error: unknown): void {
    logger.error(
      `${this.place}: the outcome could not be looked at, and is not kept`,
      error instanceof Error ? error.stack : String(error),
    );
  }

  unreadable(why: unknown): void {
    logger.error(
      `${this.place}: the stored record cannot be read, so the call fails until it expires: ` +
        (why instanceof Error ? why.message : String(why)),
    );
  }

  private get place(): string {
    return `${this.call.handler}, key ${this.shownKey}`;
  }

  private tell<Type extends IdempotencyEvent['type']>(type: Type, fields: Told<Type>): void {
    const { context, handler, scope } = this.call;
    this.events.emit({
      type,
      context,
      handler,
      key: this.shownKey,
      ...(scope === undefined ? {} : { scope }),
      ...fields,
    } as unknown as IdempotencyEvent);
  }
}

/** Enough to find the lines that belong together, and too little to repeat a request with. */
function hashed(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
}

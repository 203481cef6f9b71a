import { createHash } from 'node:crypto';
import type { IdempotencyEvent, IdempotencyEvents, IdempotencyReleasedEvent } from '../idempotency.events.js';
import { log } from '../log.js';
import type { KeyedCall } from './keyed-call.js';
import type { IdempotencyRejectedError } from './rejection.js';
import type { StoreMethod } from './bounded-store.js';
import { textOf, type StoreOutage } from './store-outage.js';

/** Fields of an event that all events of one call have in common. */
type Told<Type extends IdempotencyEvent['type']> = Omit<
  Extract<IdempotencyEvent, { readonly type: Type }>,
  'context' | 'handler' | 'key' | 'scope' | 'type'
>;

export interface ReportOutlets {
  readonly events: IdempotencyEvents;
  readonly outage: StoreOutage;
  readonly exposeKeys: boolean;
}

/** What is told about one call, in events and logs. */
export class CallReports {
  private lost = false;
  private failed: ReadonlySet<StoreMethod> | undefined = undefined;
  private shown: string | undefined = undefined;

  constructor(
    private readonly call: KeyedCall,
    private readonly outlets: ReportOutlets,
  ) {}

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

  /** A store that is asked again and again counts once for each call. */
  storeFailed(method: StoreMethod, error: unknown, duration: number): void {
    this.tell('store-error', { method, error, duration });
    if (this.failed?.has(method) === true) return;

    this.failed = new Set([...(this.failed ?? []), method]);
    this.outlets.outage.failed(this.place, method, error);
  }

  /** A store without room works: it has said that it will not remember this call. */
  storeFull(error: unknown, duration: number): void {
    this.tell('store-error', { method: 'acquire', error, duration });
  }

  /** Somebody else may run this handler for the same key: told once. */
  lockLost(phase: Told<'lock-lost'>['phase'], because: string): void {
    if (this.lost) return;

    this.lost = true;
    log('warn', `${this.place}: ${because}. The handler may run again for this key.`);
    this.tell('lock-lost', { phase });
  }

  warn(message: string): void {
    log('warn', `${this.place}: ${message}`);
  }

  /** What an application's own code threw where its answer was looked at. */
  captureFailed(error: unknown): void {
    log('error', `${this.place}: the outcome could not be looked at, and is not kept`, textOf(error));
  }

  unreadable(why: unknown): void {
    const reason = why instanceof Error ? why.message : textOf(why);
    log('error', `${this.place}: the stored record cannot be read, so the call fails until it expires: ${reason}`);
  }

  private get place(): string {
    return `${this.call.handler}, key ${this.shownKey}`;
  }

  private get shownKey(): string {
    return (this.shown ??= this.outlets.exposeKeys ? this.call.key : hashed(this.call.key));
  }

  private tell<Type extends IdempotencyEvent['type']>(type: Type, fields: Told<Type>): void {
    const { events } = this.outlets;
    if (!events.isHeard(type)) return;

    const { context, handler, scope } = this.call;
    events.emit({
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

import type { IdempotencyContext } from '../idempotency.options.js';
import type { HandlerSettings } from '../settings.js';

/** One call that came with a key. */
export interface KeyedCall {
  readonly context: IdempotencyContext | 'service';
  /** `Class.method`, or the name that was given to the service. */
  readonly handler: string;
  /** As the client has sent it. */
  readonly key: string;
  readonly scope: string | undefined;
  /** Under which the store keeps it. */
  readonly recordKey: string;
  readonly fingerprint: string;
  readonly settings: HandlerSettings;
}

import type { IdempotencyErrorCode } from '../idempotency.events.js';

const STATUSES: Readonly<Record<IdempotencyErrorCode, number>> = {
  IDEMPOTENCY_KEY_REQUIRED: 400,
  IDEMPOTENCY_KEY_INVALID: 400,
  IDEMPOTENCY_KEY_IN_USE: 409,
  IDEMPOTENCY_KEY_REUSED: 422,
  IDEMPOTENCY_RECORD_UNREADABLE: 500,
  IDEMPOTENCY_SCOPE_MISSING: 500,
  IDEMPOTENCY_STORE_UNAVAILABLE: 503,
};

export interface RejectionOptions {
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A call that was refused: its handler did not run. Each transport answers it in its own way. */
export class IdempotencyRejectedError extends Error {
  override readonly name = 'IdempotencyRejectedError';
  readonly code: IdempotencyErrorCode;
  /** The HTTP status that goes with the code. */
  readonly status: number;
  /** Milliseconds until trying again may succeed, where it may. */
  readonly retryAfterMs: number | undefined;

  constructor(code: IdempotencyErrorCode, message: string, { retryAfterMs, cause }: RejectionOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = STATUSES[code];
    this.retryAfterMs = retryAfterMs;
  }

  /** In whole seconds, rounded up, as HTTP wants it. */
  get retryAfterSeconds(): number | undefined {
    return this.retryAfterMs === undefined ? undefined : Math.ceil(this.retryAfterMs / 1_000);
  }
}

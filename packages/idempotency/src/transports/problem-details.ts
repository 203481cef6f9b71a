import type { IdempotencyRejectedError } from '../execution/rejection.js';
import type { IdempotencyErrorCode } from '../idempotency.events.js';

/** RFC 9457, section 3. */
export interface ProblemDetails {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: IdempotencyErrorCode;
}

/** The same for every problem of one type. */
const TITLES: Readonly<Record<IdempotencyErrorCode, string>> = {
  IDEMPOTENCY_KEY_REQUIRED: 'Idempotency-Key is missing',
  IDEMPOTENCY_KEY_INVALID: 'Idempotency-Key is malformed',
  IDEMPOTENCY_KEY_IN_USE: 'A request is outstanding for this Idempotency-Key',
  IDEMPOTENCY_KEY_REUSED: 'Idempotency-Key is already used',
  IDEMPOTENCY_RECORD_UNREADABLE: 'The stored response is unreadable',
  IDEMPOTENCY_SCOPE_MISSING: 'The caller of this request cannot be told from others',
  IDEMPOTENCY_STORE_UNAVAILABLE: 'Idempotency keys cannot be looked up',
};

/** @param type Where the errors are documented. */
export function problemDetails({ code, status, message }: IdempotencyRejectedError, type: string): ProblemDetails {
  return { type: `${type}#${code}`, title: TITLES[code], status, detail: message, code };
}

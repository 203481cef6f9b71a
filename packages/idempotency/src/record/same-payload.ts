import { isDeepStrictEqual } from 'node:util';
import type { IdempotencyStoredPayload } from '../store.js';

/** Stores keep JSON, which has no -0 and no order of fields. */
export function isSamePayload(found: IdempotencyStoredPayload, written: IdempotencyStoredPayload): boolean {
  return isDeepStrictEqual(asJson(found), asJson(written));
}

function asJson(payload: IdempotencyStoredPayload): unknown {
  return JSON.parse(JSON.stringify(payload ?? null));
}

import { ClientDisconnectedError } from 'holdfast';
import { decision } from 'holdfast/binding';
import type { IdempotencyReleasedEvent } from '../idempotency.events.js';
import type { HandlerSettings } from '../settings.js';
import type { IdempotencyStoredResponse } from '../store.js';
import { IdempotencyLockLostError } from './lock.js';
import { IdempotencyRejectedError } from './rejection.js';

/** What becomes of an outcome: it is kept, or its key is given back. */
export type Choice =
  { readonly keep: IdempotencyStoredResponse } | { readonly free: IdempotencyReleasedEvent['reason'] };

/**
 * What the settings say of an outcome that could be kept. Throws what `storeIf` throws.
 *
 * @param thrown What the handler threw; nothing for a success.
 */
export function chooseBySettings(
  stored: IdempotencyStoredResponse,
  { storeIf, maxBodySize }: HandlerSettings,
  ...thrown: readonly [error?: unknown]
): Choice {
  if (!decision(storeIf(stored.status, ...thrown), 'storeIf')) return { free: 'outcome' };

  return isLarger(stored.body, maxBodySize) ? { free: 'too-large' } : { keep: stored };
}

/**
 * Given up because its client had left or its key was lost, or refused by the service on the way: whatever its status is,
 * it says nothing of the work.
 */
export function isCutOff(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;

  return [thrown, thrown.cause].some(
    (error) =>
      error instanceof ClientDisconnectedError ||
      error instanceof IdempotencyLockLostError ||
      error instanceof IdempotencyRejectedError,
  );
}

function isLarger(body: unknown, maxBodySize: number): boolean {
  if (maxBodySize === Infinity || body === undefined) return false;

  return Buffer.byteLength(JSON.stringify(body)) > maxBodySize;
}

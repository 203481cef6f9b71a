import assert from 'node:assert/strict';
import { NotOffered, type Adapter } from './adapter.js';

/**
 * What was told is the caller's reason, by identity. A library that has a word of its own for a cancelled call does not
 * offer that: it fails only where it tells something else. To be asked last, after what it does offer.
 *
 * @param what Who was told, for the report.
 */
export function assertReason(library: Adapter, told: unknown, { reason, what }: Expected): void {
  if (told === reason) return;
  if (isWordOf(library, told)) throw new NotOffered('its cancellations carry no reason of a caller');

  assert.fail(`${what} ${String(told)}`);
}

/** Whether it is the library's own word for a call that was cancelled, where it has one. */
export function isWordOf(library: Adapter, told: unknown): boolean {
  return library.isCancelled?.(told) === true;
}

interface Expected {
  readonly reason: unknown;
  readonly what: string;
}

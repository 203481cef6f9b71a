import { show } from 'holdfast/binding';

/**
 * What a scope function returned, as text; `undefined` for the namespace that all share (`undefined`, `null` or `''`).
 *
 * A number must be finite and, if it is an integer, at most 2^53 - 1: above it numbers are rounded, and two callers might
 * share one scope, and with it their answers.
 *
 * @param handler `Class.method`, for the message.
 * @throws TypeError for anything else: what cannot tell callers apart must not be taken for "all of them".
 */
export function scopeText(value: unknown, handler: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && Number.isFinite(value) && !isRounded(value)) return String(value);

  throw new TypeError(
    `The idempotency scope of ${handler} is ${show(value)}: return a string, a bigint or a finite number ` +
      'that identifies the caller (an integer above 2^53 - 1 as a string), or undefined for the namespace that all share.',
  );
}

function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

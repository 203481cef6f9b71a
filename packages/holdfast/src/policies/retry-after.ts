/**
 * What a dependency says about when to come back: `Retry-After` of RFC 9110, section 10.2.3, in whole seconds or as
 * an HTTP date, found on the error, on its response, or on its cause.
 */

interface Carrier {
  readonly retryAfterMs?: unknown;
  readonly headers?: unknown;
  readonly response?: { readonly headers?: unknown } | null | undefined;
  readonly cause?: unknown;
}

/** Milliseconds from now, above 0; `undefined` when there is no hint that can be relied on. */
export function retryAfterHint(error: unknown): number | undefined {
  if (!isObject(error)) return undefined;

  try {
    return hintOn(error) ?? hintOnCause(error);
  } catch {
    // What throws when it is read is no hint either, and does not stand in for the error that it was looked for on.
    return undefined;
  }
}

function hintOnCause({ cause }: Carrier): number | undefined {
  return isObject(cause) ? hintOn(cause) : undefined;
}

function hintOn({ retryAfterMs, headers, response }: Carrier): number | undefined {
  if (Number.isFinite(retryAfterMs) && (retryAfterMs as number) > 0) return retryAfterMs as number;

  return hintIn(headers) ?? (isObject(response) ? hintIn((response as Carrier).headers) : undefined);
}

function hintIn(headers: unknown): number | undefined {
  if (!isObject(headers)) return undefined;

  const value = typeof (headers as Headers).get === 'function' ? read(headers as Headers) : lookUp(headers);
  return typeof value === 'string' || typeof value === 'number' ? parseRetryAfter(String(value)) : undefined;
}

function read(headers: Headers): unknown {
  return headers.get('retry-after');
}

/** Two spellings of one header are a duplicate, and no hint; so is a list. */
function lookUp(headers: object): unknown {
  const [first, second] = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'retry-after');

  return second === undefined ? first?.[1] : undefined;
}

/** The three forms of an HTTP date (RFC 9110, section 5.6.7): IMF-fixdate, RFC 850 and asctime. */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

function parseRetryAfter(text: string): number | undefined {
  if (/^\d+$/.test(text)) {
    const milliseconds = Number(text) * 1_000;
    return milliseconds > 0 ? milliseconds : undefined;
  }
  if (!HTTP_DATE.test(text)) return undefined;

  // A date speaks of the wall clock, so this is the one place that reads it.
  const milliseconds = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - Date.now();
  return milliseconds > 0 ? milliseconds : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * Whether a value is read once and over time: a Node stream and whatever else can be piped, a web stream or another async
 * iterable, the file around a stream that Nest sends, or the `Response` of `fetch()`. Told by shape, so that no copy of a
 * package is missed.
 */
export function isStream(value: object): boolean {
  const { pipe, getStream, getHeaders } = value as Record<string, unknown>;
  if (typeof pipe === 'function') return true;
  if (typeof getStream === 'function' && typeof getHeaders === 'function') return true;

  if (Object.prototype.toString.call(value) === '[object Response]') return true;

  return typeof (value as Record<symbol, unknown>)[Symbol.asyncIterator] === 'function';
}

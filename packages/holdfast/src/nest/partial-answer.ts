import { PartialResponse } from '../sections/partial-response.js';

/** A partial response of whatever sections. */
export type AnyPartialResponse = PartialResponse<unknown, unknown>;

/**
 * The partial response that a handler's answer is, or that stands in it as `{ data: page }` does: interceptors that put
 * every answer into an envelope may have come first. `undefined` when there is none.
 */
export function partialIn(answer: unknown): AnyPartialResponse | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  try {
    return isPartial(answer) ? answer : inEnvelope(answer);
  } catch {
    // Answers may be proxies that do not let themselves be looked at.
    return undefined;
  }
}

function inEnvelope(answer: object): AnyPartialResponse | undefined {
  return isEnvelope(answer) ? Object.values(answer).find(isPartial) : undefined;
}

/** Anything but an object of some class. */
export function isEnvelope(answer: object): answer is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(answer);

  return prototype === Object.prototype || prototype === null;
}

export function isPartial(value: unknown): value is AnyPartialResponse {
  return value instanceof PartialResponse;
}

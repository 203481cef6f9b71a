import { ClassSerializerInterceptor, StandardSchemaSerializerInterceptor } from '@nestjs/common';
import { isThenable } from 'holdfast/binding';
import { isEnvelope, isPartial, partialIn } from 'holdfast/nest';

/**
 * Nest's serializers make plain objects of the fields of whatever they see. A partial response would lose its marks, and
 * the body that `map()` made of it: what that had left out would be sent.
 */

type Serialize = (this: unknown, answer: unknown, ...options: unknown[]) => unknown;

interface Serializer {
  readonly transformToPlain: Serialize;
}

const MENDED = Symbol.for('nestjs.resilience.serializes-bodies');

/**
 * Makes Nest's serializers, and what is derived from them, serialize the body of a partial response, which stays one. In
 * the classes, since instances of them are made for a request, or stand in decorators.
 */
export function letSerializersKeepMarks(): void {
  for (const { prototype } of [ClassSerializerInterceptor, StandardSchemaSerializerInterceptor]) {
    if (!Object.hasOwn(prototype, MENDED)) mend(prototype as unknown as Serializer);
  }
}

function mend(serializer: Serializer): void {
  const { transformToPlain } = serializer;
  function transformBody(this: unknown, answer: unknown, ...options: unknown[]): unknown {
    if (partialIn(answer) === undefined) return transformToPlain.call(this, answer, ...options);

    const plain = transformToPlain.call(this, bodyOf(answer as object), ...options);
    return isThenable(plain) ? plain.then((body) => marked(answer as object, body)) : marked(answer as object, plain);
  }

  Object.defineProperty(serializer, 'transformToPlain', { value: transformBody, configurable: true, writable: true });
  Object.defineProperty(serializer, MENDED, { value: true });
}

/** An answer as JSON would have it: a partial response is its body, also in an envelope. */
function bodyOf(answer: object): unknown {
  if (isPartial(answer)) return answer.toJSON();

  return Object.fromEntries(
    Object.entries(answer).map(([key, value]) => [key, isPartial(value) ? value.toJSON() : value]),
  );
}

/**
 * The same answer with what was made of its body, or of those in the envelope. One whose body was not let through has
 * none, and marks the envelope all the same.
 */
function marked(answer: object, plain: unknown): unknown {
  if (isPartial(answer)) return answer.map(() => plain);
  if (typeof plain !== 'object' || plain === null || !isEnvelope(plain)) return plain;

  const pages = Object.entries(answer).flatMap(([key, page]) =>
    isPartial(page) ? [[key, page.map(() => plain[key])] as const] : [],
  );
  return { ...plain, ...Object.fromEntries(pages) };
}

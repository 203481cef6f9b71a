import type { NestInterceptor } from '@nestjs/common';
import { logger } from '../log.js';

const SERIALIZER = 'ClassSerializerInterceptor';
const RESILIENCE = 'ResilienceInterceptor';
const REMEDY =
  'Register it with app.useGlobalInterceptors(), or import its module after IdempotencyModule, so that what is kept is what it made.';

const RESILIENCE_REMEDY =
  ' Import IdempotencyModule before ResilienceModule: else breakers, bulkheads and timeouts also stand in front of replays, ' +
  'and each retry asks for the key again.';

/**
 * Interceptors in front see replays as if they came from the handler.
 *
 * @throws Error when one of them hides fields by the class of what the handler returned: replays have none.
 */
export function checkInterceptorOrder(interceptors: readonly NestInterceptor[], own: NestInterceptor): void {
  const names = interceptors.slice(0, Math.max(0, interceptors.indexOf(own))).map(nameOf);
  if (names.length === 0) return;

  const serializer = interceptors.slice(0, interceptors.indexOf(own)).find(isSerializer);
  if (serializer !== undefined) {
    throw new Error(
      `${nameOf(serializer)} stands in front of the idempotency interceptor, and would let through all fields of a ` +
        `replayed answer, also those that @Exclude() hides. ${REMEDY}`,
    );
  }

  logger.warn(
    `These global interceptors stand in front of the idempotency interceptor: ${names.join(', ')}. They run again for each ` +
      `replay, and what they do to answers is not kept. ${REMEDY}${names.includes(RESILIENCE) ? RESILIENCE_REMEDY : ''}`,
  );
}

function nameOf(interceptor: NestInterceptor): string {
  return interceptor.constructor.name;
}

/** Or derived from it; of any copy of Nest. */
function isSerializer(interceptor: NestInterceptor): boolean {
  let prototype: unknown = Object.getPrototypeOf(interceptor);
  while (typeof prototype === 'object' && prototype !== null) {
    if (prototype.constructor.name === SERIALIZER) return true;
    prototype = Object.getPrototypeOf(prototype);
  }

  return false;
}

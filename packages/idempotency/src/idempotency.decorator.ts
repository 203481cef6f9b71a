import { SetMetadata } from '@nestjs/common';
import { withPath } from 'holdfast/binding';
import type { IdempotentOptions } from './idempotency.options.js';
import { readHandlerOptions, type HandlerOptions } from './settings.js';

/** Where the decorator leaves its options, with durations in milliseconds; `false` where it opts out. */
export const IDEMPOTENT = 'nestjs:idempotent';

export type IdempotentMetadata = HandlerOptions | false;

/**
 * Answers repeated calls with one key from the store: the handler runs once. On a handler it covers every call. On a class
 * it covers HTTP methods other than GET, HEAD and OPTIONS, mutations of GraphQL, and message handlers; a handler's own
 * options win, field by field. `@Idempotent(false)` leaves a handler of such a class alone.
 *
 * @throws TypeError naming the option, when it is not valid.
 *
 * @example
 * ```ts
 * @Post()
 * @Idempotent({ required: true, ttl: '7d' })
 * createPayment() {}
 * ```
 */
export function Idempotent(options: IdempotentOptions | false = {}): ClassDecorator & MethodDecorator {
  const metadata: IdempotentMetadata =
    options === false ? false : withPath('@Idempotent()', () => readHandlerOptions(options));

  return SetMetadata(IDEMPOTENT, metadata);
}

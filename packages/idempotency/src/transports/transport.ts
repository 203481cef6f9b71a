import type { ExecutionContext } from '@nestjs/common';
import type { HandlerKinds } from 'holdfast/nest';
import type { IdempotencyRejectedError } from '../execution/rejection.js';
import type { IdempotencyContext } from '../idempotency.options.js';
import type { KeyReading } from '../key/idempotency-key.js';
import type { HandlerSettings } from '../settings.js';
import type { IdempotencyStoredResponse } from '../store.js';

/** How a handler has ended. */
export type Outcome =
  { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'error'; readonly error: unknown };

/** An outcome of which nothing can be kept, and why: the end of a sentence that begins with "The handler". */
export interface Unstorable {
  readonly unstorable: string;
}

/** The handler that is called. */
export interface CalledHandler {
  /** Such as `PaymentsController.create`. */
  readonly source: string;
  readonly settings: HandlerSettings;
}

/** How calls of one kind come in, and how answers leave: all that is not the same for every call with a key. */
export interface Transport {
  readonly context: IdempotencyContext;

  /** Whether it answers once, with the last value; otherwise each value is one of a stream. */
  readonly answersOnce: boolean;

  /** Gets what handlers of these kinds need of packages that an application need not have. */
  prepare?(kinds: readonly HandlerKinds[]): Promise<void>;

  /** Whether a decorator on the class alone covers this call. */
  isCoveredByClass(context: ExecutionContext): boolean;

  /** Why this call cannot be protected, whatever stands on its handler; `undefined` when it can. */
  whyUnprotected?(context: ExecutionContext): string | undefined;

  /** Where the key of this call is found: by what the handler's settings say, or in the usual places. */
  keyOf(context: ExecutionContext, settings: HandlerSettings): KeyReading | Promise<KeyReading>;

  /** What a scope function is given. */
  scopeSourceOf(context: ExecutionContext): unknown;

  /** Who is signed in; `undefined` or `null` when nobody is. */
  userOf(context: ExecutionContext): unknown;

  /** What is called, so that a key cannot be used for something else. */
  identityOf(context: ExecutionContext): readonly string[];

  /** What it is called with. */
  payloadOf(context: ExecutionContext): unknown;

  /** Whether it is called with more than can be seen of it, so that calls may differ although they look alike. */
  hidesPayload?(context: ExecutionContext): boolean;

  /** Which of several calls that share a key; `undefined` where a key is for one call. */
  placeOf(context: ExecutionContext, handler: CalledHandler): string | undefined;

  /** Whether the rest of what it is called with never came: what was wrong with this call need not be with the next one. */
  isCutShort?(context: ExecutionContext): boolean;

  /** An outcome as it is kept. Throws what reading it throws. */
  store(
    outcome: Outcome,
    context: ExecutionContext,
  ): IdempotencyStoredResponse | Unstorable | Promise<IdempotencyStoredResponse | Unstorable>;

  /**
   * The value that Nest is to send in place of a handler's, after the rest of the answer was set.
   *
   * @param response Its body is as the handler had returned it.
   * @throws What the handler had thrown, in a form that ends in the same answer.
   */
  replay(response: IdempotencyStoredResponse, context: ExecutionContext): unknown;

  /** The transport's own error. */
  reject(rejection: IdempotencyRejectedError, context: ExecutionContext): unknown;

  /** Whether nobody is there whom an error would reach, so that the call is logged and ends as if it had been handled. */
  dropsRejected?(rejection: IdempotencyRejectedError, context: ExecutionContext): boolean;
}

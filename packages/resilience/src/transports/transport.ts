import type { ExecutionContext } from '@nestjs/common';
import type { ResilienceError } from 'holdfast';
import type { HandlerKinds } from 'holdfast/nest';
import type { TransferOutcome } from './transfer.js';

/** How calls come into an application, and how answers leave it. */
export interface Transport {
  /** Whether it answers once, with the last value, when the handler has completed: until then nothing has left. */
  readonly answersOnce: boolean;

  /** Whether a call whose client has left just ends: an error would be sent, or logged as one that nobody has expected. */
  readonly endsSilently?: boolean;

  /** Gets what it needs for handlers of these kinds, of packages that an application need not have. */
  prepare?(kinds: readonly HandlerKinds[]): Promise<void>;

  /** The call on the wire; `undefined` where nothing can be seen of it. */
  exchangeOf(context: ExecutionContext): Exchange | undefined;

  /** Begins to follow how a handler without a plan answers, where only the handler can tell. */
  follow?(context: ExecutionContext): void;

  /** Whether a call has no side effects; `undefined` where calls do not tell. */
  isSafe(context: ExecutionContext): boolean | undefined;

  /** What the caller says under the name of a header, in lower case; a list when it says more than one thing. */
  headerOf?(context: ExecutionContext, name: string): string | readonly string[] | undefined;

  /** How long the caller waits, in milliseconds, where that is part of the protocol itself. */
  patienceOf?(context: ExecutionContext): number | undefined;

  /** The transport's own error in place of a policy's. */
  translate(error: ResilienceError, context: ExecutionContext): unknown;

  /**
   * Answers a call with an error itself, where Nest would not send it. When it did, it gives the values that Nest is
   * handed as those of the handler. `hasBegun` says whether something of an answer had left before.
   */
  answerFailure?(error: unknown, context: ExecutionContext, hasBegun: boolean): readonly unknown[] | undefined;

  /** Whether nobody else would answer a call with an error, so that one which is left to others ends the process. */
  answersAlone?(context: ExecutionContext): boolean;

  /** What is sent in place of a value; missing where values are sent as they are. */
  outgoing?(value: unknown, context: ExecutionContext): unknown;

  /** Whether a call opens a stream of events, so that what its handler returns is the stream. */
  opensEvents?(context: ExecutionContext): boolean;

  /** What is sent in place of an event of such a stream; missing where events are sent as they are. */
  outgoingEvent?(event: unknown, context: ExecutionContext): unknown;

  /** A last look at the answer, the last of the values, before it leaves. */
  mark?(answer: unknown, context: ExecutionContext): void;
}

/** One call on the wire. */
export interface Exchange {
  /** Whether the handler itself has begun to answer. */
  hasBegun(): boolean;

  /** Whether the client has left before its answer had been sent. */
  readonly clientLeft: boolean;

  /** Calls `listener` when the client leaves before its answer was sent. What it returns has to be called then. */
  onClientLeft(listener: () => void): () => void;

  /** Whether Nest unsubscribes from calls whose client has left, but lets their handlers run to their end. */
  readonly outlivesClient?: boolean;

  /**
   * Where the transport itself ends calls at the deadline of their caller: how long that was, in milliseconds, once it
   * has ended this one. Such a caller has not left.
   */
  readonly overAfterMs?: number | undefined;

  /** Hears of each value that leaves as it comes. */
  onSent?(): void;

  /** Hears of each value that leaves as it comes, when it is not the handler's but stands in its place. */
  onReplaced?(value: unknown): void;

  /** Where answers may be bodies that are read while they are sent. */
  readonly bodies?: StreamedBodies;
}

/** Bodies that are read while they are sent. */
export interface StreamedBodies {
  /** Whether a value is one, whose end is told. */
  isStreamed(value: unknown): boolean;

  /** Tells, once, how the transfer of such a body ended. Returns the body to send. */
  followTransfer(body: unknown, tell: (outcome: TransferOutcome) => void): unknown;
}

/** Of a package that nobody has told us of. */
export const UNKNOWN_TRANSPORT: Transport = {
  answersOnce: false,
  exchangeOf: () => undefined,
  isSafe: () => undefined,
  translate: (error) => error,
};

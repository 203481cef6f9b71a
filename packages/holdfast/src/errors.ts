import { brand, hasBrand } from './brand.js';
import type { DegradedReason } from './sections/degraded.js';

/**
 * The errors of the engine: one base, one class per reason, a stable `code`, and the number that the caller needs.
 * Each class carries a registered symbol, so that `instanceof` holds across two copies of the package in one process.
 */

const BRANDS = {
  resilience: Symbol.for('holdfast.error.resilience'),
  rejection: Symbol.for('holdfast.error.rejection'),
  timeout: Symbol.for('holdfast.error.timeout'),
  circuitOpen: Symbol.for('holdfast.error.circuit-open'),
  bulkheadFull: Symbol.for('holdfast.error.bulkhead-full'),
  rateLimited: Symbol.for('holdfast.error.rate-limited'),
  deadline: Symbol.for('holdfast.error.deadline'),
  clientGone: Symbol.for('holdfast.error.client-gone'),
  siblingFailed: Symbol.for('holdfast.error.sibling-failed'),
  sectionFailed: Symbol.for('holdfast.error.section-failed'),
} as const;

/** Marks a timeout that says nothing about the dependency; see {@link discount}. */
const DISCOUNTED = Symbol.for('holdfast.error.discounted');

/**
 * Base of every error that a policy makes. They capture no stack: refusals are frequent by nature, and what a timer
 * calls has a stack that says nothing about the call, but holds on to the timer and to its async context, and so, in
 * a chain of calls that each start in the wake of a timeout, to all those before.
 */
export abstract class ResilienceError extends Error {
  /** Stable and meant for programs, such as `TIMEOUT`. */
  abstract readonly code: string;
  /** The name of the policy, or of the handler, that gave up. */
  readonly policy: string;

  protected constructor(message: string, policy: string) {
    const depth = StackDepth.stackTraceLimit;
    if (depth !== undefined) setStackDepth(0);
    super(message);
    if (depth !== undefined) setStackDepth(depth);
    this.policy = policy;
  }
}

/** Base of the refusals: the work never ran. */
export abstract class RejectionError extends ResilienceError {
  /** Milliseconds until trying again can succeed, where that is known. */
  readonly retryAfterMs: number | undefined;

  protected constructor(message: string, policy: string, retryAfterMs: number | undefined) {
    super(message, policy);
    this.retryAfterMs = retryAfterMs;
  }
}

/** An attempt that did not answer within its limit. */
export class ResilienceTimeoutError extends ResilienceError {
  readonly code = 'TIMEOUT';
  /** The limit, in milliseconds. */
  readonly timeoutMs: number;

  constructor(timeoutMs: number, policy: string) {
    super(`Timed out after ${timeoutMs}ms`, policy);
    this.timeoutMs = timeoutMs;
  }
}

/** A call that an open circuit breaker, or a half-open one with no probe left, refused. */
export class CircuitOpenError extends RejectionError {
  readonly code = 'CIRCUIT_OPEN';
  declare readonly retryAfterMs: number;

  constructor(policy: string, retryAfterMs: number) {
    super(`Circuit breaker "${policy}" is open`, policy, retryAfterMs);
  }
}

/** A call that found neither a slot nor a place in the queue, or waited in the queue for too long. */
export class BulkheadFullError extends RejectionError {
  readonly code = 'BULKHEAD_FULL';
  readonly reason: 'full' | 'queue-timeout';

  constructor(policy: string, reason: 'full' | 'queue-timeout') {
    const message =
      reason === 'full' ? `Bulkhead "${policy}" is full` : `Timed out waiting for a slot in bulkhead "${policy}"`;
    super(message, policy, undefined);
    this.reason = reason;
  }
}

/** A call for which the outbound rate limit would have had to wait longer than its `maxWait`. */
export class OutboundRateLimitError extends RejectionError {
  readonly code = 'RATE_LIMITED';
  declare readonly retryAfterMs: number;

  constructor(policy: string, retryAfterMs: number) {
    super(`Outbound rate limit "${policy}" exceeded`, policy, retryAfterMs);
  }
}

/** A call, with all that it did, that was not answered within its budget. */
export class DeadlineExceededError extends ResilienceError {
  readonly code = 'DEADLINE_EXCEEDED';
  /** The budget, in milliseconds. */
  readonly budgetMs: number;

  constructor(budgetMs: number, policy: string) {
    super(`Not answered within the budget of ${budgetMs}ms`, policy);
    this.budgetMs = budgetMs;
  }
}

/** Whoever asked has gone: nobody is left to answer to. */
export class ClientDisconnectedError extends ResilienceError {
  readonly code = 'CLIENT_CLOSED_REQUEST';

  constructor(policy: string) {
    super('The client has disconnected', policy);
  }
}

/** The reason of the signal of a section whose answer nobody needs any more, since a required one failed. */
export class SiblingFailedError extends ResilienceError {
  readonly code = 'SIBLING_FAILED';
  /** The section that failed. */
  readonly section: string;

  constructor(section: string, policy: string) {
    super(`Section "${section}" failed`, policy);
    this.section = section;
  }
}

/** What a {@link SectionFailedError} is made of. */
export interface SectionFailure {
  readonly section: string;
  readonly reason: DegradedReason;
  readonly cause: unknown;
  readonly status: number;
  readonly retryAfterMs?: number | undefined;
}

/** An answer that a required section, or too few good ones, made impossible. */
export class SectionFailedError extends ResilienceError {
  readonly code = 'SECTION_FAILED';
  /** The section that failed; `'*'` when too few of all were good. */
  readonly section: string;
  /** Why, in the code that a degraded section has. */
  readonly reason: DegradedReason;
  /** The HTTP status to answer with: what the section asked for, else a dependency's 404 or 410, else 502. */
  readonly status: number;
  /** Milliseconds until trying again is worth it, when the section says so. */
  readonly retryAfterMs: number | undefined;

  constructor({ section, reason, cause, status, retryAfterMs }: SectionFailure, policy: string) {
    super(`${section === '*' ? 'all sections' : section} unavailable`, policy);
    this.section = section;
    this.reason = reason;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    Object.defineProperty(this, 'cause', { value: cause, configurable: true, writable: true });
  }
}

name(ResilienceError, 'ResilienceError', BRANDS.resilience);
name(RejectionError, 'RejectionError', BRANDS.rejection);
name(ResilienceTimeoutError, 'ResilienceTimeoutError', BRANDS.timeout);
name(CircuitOpenError, 'CircuitOpenError', BRANDS.circuitOpen);
name(BulkheadFullError, 'BulkheadFullError', BRANDS.bulkheadFull);
name(OutboundRateLimitError, 'OutboundRateLimitError', BRANDS.rateLimited);
name(DeadlineExceededError, 'DeadlineExceededError', BRANDS.deadline);
name(ClientDisconnectedError, 'ClientDisconnectedError', BRANDS.clientGone);
name(SiblingFailedError, 'SiblingFailedError', BRANDS.siblingFailed);
name(SectionFailedError, 'SectionFailedError', BRANDS.sectionFailed);

/** Names live on the prototype and are spelt out, since bundlers rename classes. */
export function name(owner: { readonly prototype: object }, text: string, mark: symbol): void {
  Object.defineProperty(owner.prototype, 'name', { value: text, configurable: true, writable: true });
  brand(owner, mark);
}

/** Whether the work never ran because a policy refused it. */
export function isRejection(error: unknown): boolean {
  return hasBrand(error, BRANDS.rejection);
}

/** Whether the work ended because nobody waits for its answer any more: nothing to repeat, to count or to answer for. */
export function isClientGone(error: unknown): boolean {
  return hasBrand(error, BRANDS.clientGone);
}

/**
 * Takes a timeout out of every breaker's count: the event loop stalled, or the attempt waited in our own queues,
 * so it says nothing about the dependency.
 */
export function discount(error: Error): void {
  Object.defineProperty(error, DISCOUNTED, { value: true });
}

export function isDiscounted(error: unknown): boolean {
  return hasBrand(error, DISCOUNTED);
}

/**
 * Whether an error blames the request rather than the dependency; the default of `retryIf`, `recordIf` and
 * `handleIf` is its opposite.
 *
 * - An HTTP exception (recognised by `getStatus()` and `getResponse()`) below 500 is an answer to our own caller: a
 *   client error, 408 and 429 included.
 * - A message or WebSocket exception (recognised by `getError()`) is one when its payload says so: `status` or
 *   `statusCode` 4xx other than 408 and 429, or a gRPC `code` of 3, 5, 6, 7, 9, 11 or 16.
 * - Any other error is one when its `status`, or else its `statusCode`, is a number from 400 to 499 other than 408
 *   and 429, with which a dependency pushes back.
 *
 * An error that throws when it is looked at says nothing of the kind.
 */
export function isClientError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  try {
    return isClientShape(error);
  } catch {
    return false;
  }
}

function isClientShape(shape: ExceptionShape): boolean {
  if (typeof shape.getStatus === 'function' && typeof shape.getResponse === 'function') {
    return (shape.getStatus() as number) < 500;
  }
  if (typeof shape.getError === 'function') return blamesCaller(shape.getError());

  return isClientStatus(statusOf(shape));
}

interface ExceptionShape {
  readonly getStatus?: () => unknown;
  readonly getResponse?: unknown;
  readonly getError?: () => unknown;
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly code?: unknown;
}

/** INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, FAILED_PRECONDITION, OUT_OF_RANGE, UNAUTHENTICATED. */
const GRPC_CLIENT_CODES: ReadonlySet<unknown> = new Set([3, 5, 6, 7, 9, 11, 16]);

function blamesCaller(payload: unknown): boolean {
  if (typeof payload !== 'object' || payload === null) return false;

  const shape = payload as ExceptionShape;
  return isClientStatus(statusOf(shape)) || GRPC_CLIENT_CODES.has(shape.code);
}

function statusOf(shape: ExceptionShape): unknown {
  return typeof shape.status === 'number' ? shape.status : shape.statusCode;
}

function isClientStatus(status: unknown): boolean {
  return typeof status === 'number' && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** V8's switch for stacks; other runtimes do not have it, and frozen ones do not let it be set. */
const StackDepth = Error as unknown as { stackTraceLimit?: number | undefined };

function setStackDepth(depth: number): void {
  try {
    StackDepth.stackTraceLimit = depth;
  } catch {
    // A frozen Error keeps capturing stacks: slower, not wrong.
  }
}

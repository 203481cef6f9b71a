import {
  ClientDisconnectedError,
  DeadlineExceededError,
  RejectionError,
  ResilienceTimeoutError,
  SectionFailedError,
  type ResilienceError,
} from 'holdfast';

/** What clients are told, on every transport: no name of a policy or a host, and of dependencies only what a section is called. */
const MESSAGES: ReadonlyMap<string, string> = new Map([
  ['TIMEOUT', 'The operation timed out'],
  ['DEADLINE_EXCEEDED', 'The operation timed out'],
  ['CIRCUIT_OPEN', 'Service temporarily unavailable'],
  ['BULKHEAD_FULL', 'Server is at capacity'],
  ['RATE_LIMITED', 'Rate limit of a dependency exceeded'],
]);

export function messageToClients(error: ResilienceError): string {
  if (error instanceof SectionFailedError) return error.message;

  return MESSAGES.get(error.code) ?? 'Service temporarily unavailable';
}

/** Larger numbers are not written in digits. */
const LONGEST_S = Number.MAX_SAFE_INTEGER;

/** Whole seconds until trying again can succeed, at least 1; `undefined` when nobody knows. */
export function retryAfterSeconds(error: ResilienceError): number | undefined {
  if (!(error instanceof RejectionError || error instanceof SectionFailedError)) return undefined;

  // Applications make such errors too, and may have computed the time.
  const { retryAfterMs } = error;
  if (retryAfterMs === undefined || !Number.isFinite(retryAfterMs)) return undefined;

  return Math.min(LONGEST_S, Math.max(1, Math.ceil(retryAfterMs / 1_000)));
}

/** Of nginx, whose logs made it known. Nobody receives it. */
export const CLIENT_CLOSED_REQUEST = 499;

/** The status of an HTTP answer to a call that met this error; other transports tell it as a number. */
export function statusOf(error: ResilienceError): number {
  if (error instanceof ClientDisconnectedError) return CLIENT_CLOSED_REQUEST;
  if (error instanceof SectionFailedError) return error.status;

  return error instanceof ResilienceTimeoutError || error instanceof DeadlineExceededError ? 504 : 503;
}

/** What callers of messages are told. */
export interface ErrorPayload {
  readonly status: 'error';
  readonly code: string;
  readonly statusCode: number;
  readonly message: string;
  /** In whole seconds, where it is known. */
  readonly retryAfter?: number;
}

export function payloadOf(error: ResilienceError): ErrorPayload {
  const retryAfter = retryAfterSeconds(error);

  return {
    status: 'error',
    code: error.code,
    statusCode: statusOf(error),
    message: messageToClients(error),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

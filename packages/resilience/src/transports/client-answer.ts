import { RejectionError, SectionFailedError, type ResilienceError } from 'holdfast';

/** What clients are told, on every transport: no name of a policy or a host, and of dependencies only what a section is called. */
const MESSAGES: Readonly<Record<string, string>> = {
  TIMEOUT: 'The operation timed out',
  DEADLINE_EXCEEDED: 'The operation timed out',
  CIRCUIT_OPEN: 'Service temporarily unavailable',
  BULKHEAD_FULL: 'Server is at capacity',
  RATE_LIMITED: 'Rate limit of a dependency exceeded',
};

export function messageToClients(error: ResilienceError): string {
  if (error instanceof SectionFailedError) return error.message;

  return MESSAGES[error.code] ?? 'Service temporarily unavailable';
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

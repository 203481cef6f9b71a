import { RejectionError, type ResilienceError } from 'holdfast';

/** What clients are told, on every transport: no name of a dependency, a policy or a host. */
const MESSAGES: Readonly<Record<string, string>> = {
  TIMEOUT: 'The operation timed out',
  DEADLINE_EXCEEDED: 'The operation timed out',
  CIRCUIT_OPEN: 'Service temporarily unavailable',
  BULKHEAD_FULL: 'Server is at capacity',
  RATE_LIMITED: 'Rate limit of a dependency exceeded',
};

export function messageToClients(error: ResilienceError): string {
  return MESSAGES[error.code] ?? 'Service temporarily unavailable';
}

/** Whole seconds until trying again can succeed, at least 1; `undefined` when nobody knows. */
export function retryAfterSeconds(error: ResilienceError): number | undefined {
  if (!(error instanceof RejectionError) || error.retryAfterMs === undefined) return undefined;

  return Math.max(1, Math.ceil(error.retryAfterMs / 1_000));
}

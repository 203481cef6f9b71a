import { BulkheadFullError, CircuitOpenError, ClientDisconnectedError, OutboundRateLimitError } from '../errors.js';
import { limitBehind } from '../time-limit-error.js';

const REASONS = {
  /** It ran, and was cut by its own limit or the deadline, or answered after it. */
  upstream_timeout: true,
  /** Nothing was left to run it with, or its time went by in the queues of its policy: it never ran. */
  budget_exhausted: true,
  /** Whoever asked went away. */
  client_abort: true,
  /** It ran and failed. */
  upstream_error: true,
  circuit_open: true,
  bulkhead_full: true,
  rate_limited: true,
  /** A section that it needs has no value of its own. */
  skipped: true,
} as const;

/** Why a section is missing. A closed set of codes: nothing else about a failure leaves the process. */
export type DegradedReason = keyof typeof REASONS;

/** A section that is missing from an answer, or stands there with its fallback. */
export interface DegradedSection {
  readonly section: string;
  readonly reason: DegradedReason;
  /** How long the answer waited for it, in whole milliseconds; 0 for a section that was never started. */
  readonly waitedMs: number;
}

/** @param started Whether the section's function was called. */
export function reasonOf(error: unknown, started: boolean): DegradedReason {
  const limit = limitBehind(error);
  if (limit !== undefined) return started ? 'upstream_timeout' : 'budget_exhausted';
  if (error instanceof CircuitOpenError) return 'circuit_open';
  if (error instanceof BulkheadFullError) return 'bulkhead_full';
  if (error instanceof OutboundRateLimitError) return 'rate_limited';
  if (error instanceof ClientDisconnectedError) return 'client_abort';

  return foreignReason(error);
}

interface ErrorShape {
  readonly name?: unknown;
  readonly reason?: unknown;
}

/** Errors that carry one of our codes, from an answer inside this one or from `holdfast/fetch`, and those of the platform. */
function foreignReason(error: unknown): DegradedReason {
  try {
    const { name, reason } = error as ErrorShape;
    if (isReason(reason)) return reason;
    if (name === 'TimeoutError') return 'upstream_timeout';

    return name === 'AbortError' ? 'client_abort' : 'upstream_error';
  } catch {
    // What cannot be looked at, such as nothing at all, has no reason of its own.
    return 'upstream_error';
  }
}

function isReason(value: unknown): value is DegradedReason {
  return typeof value === 'string' && (REASONS as Readonly<Record<string, unknown>>)[value] === true;
}

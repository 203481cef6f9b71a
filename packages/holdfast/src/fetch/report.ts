import type { DegradedReason } from '../sections/degraded.js';

/** A step that was answered without its dependency. */
export interface TimeoutEvent {
  /** The name of the step; appears in logs, so no user's data. */
  readonly step: string;
  readonly reason: DegradedReason;
  /** In milliseconds. */
  readonly waitedMs: number;
  /** What the request had left when the step was given up, in milliseconds. */
  readonly budgetLeftMs: number;
  /** Whether the request went on without the step (`open`) or was refused for want of it (`closed`). */
  readonly policy: 'open' | 'closed';
}

/**
 * Writes one line of JSON to the log, for alerts on the rate of `edge.timeout` per step. It holds these five fields,
 * times in whole milliseconds, and nothing else that the object may have: no message, no host, no stack.
 */
export function reportTimeout({ step, reason, waitedMs, budgetLeftMs, policy }: TimeoutEvent): void {
  const line = JSON.stringify({
    event: 'edge.timeout',
    step,
    reason,
    waitedMs: Math.round(waitedMs),
    budgetLeftMs: Math.round(budgetLeftMs),
    policy,
  });
  try {
    globalThis.console?.log(line);
  } catch {
    // Whoever reports is about to answer; a console that throws must not keep it from that.
  }
}

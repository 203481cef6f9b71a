import type { Permit } from './calls-in-flight.js';
import type { ResolvedCircuitBreakerOptions } from './circuit-breaker-options.js';
import type { Outcome } from './sliding-window.js';

/**
 * The probes of one half-open period. A place that an ignored outcome frees is given again; a place whose probe has
 * decided, or was lost, is not.
 */
export class ProbePeriod {
  readonly #options: ResolvedCircuitBreakerOptions;
  /** Probes that run, and when each one's lease ends. */
  readonly #running = new Map<Permit, number>();
  #earliestDue = Infinity;
  #finished = 0;
  #failed = 0;
  #slow = 0;

  constructor(options: ResolvedCircuitBreakerOptions) {
    this.#options = options;
  }

  /** False when every place is taken. */
  admit(permit: Permit, dueAt: number): boolean {
    if (this.#running.size + this.#finished >= this.#options.halfOpenMaxCalls) return false;

    this.#running.set(permit, dueAt);
    this.#earliestDue = Math.min(this.#earliestDue, dueAt);
    return true;
  }

  /** Counts a probe's outcome; `undefined` frees its place. That of a probe whose lease has ended is dropped. */
  settle(permit: Permit, outcome: Outcome | undefined): void {
    if (!this.#running.delete(permit) || outcome === undefined) return;

    this.#count(outcome);
  }

  /** A probe that has outlived its lease counts as failed. */
  revokeOverdue(time: number): void {
    if (time < this.#earliestDue) return;

    this.#earliestDue = Infinity;
    for (const [permit, dueAt] of this.#running) {
      if (time < dueAt) {
        this.#earliestDue = Math.min(this.#earliestDue, dueAt);
        continue;
      }
      this.#running.delete(permit);
      this.#count({ failed: true, slow: false });
    }
  }

  /** The verdict, as soon as no outcome of the probes still to come can change it. */
  verdict(): 'open' | 'close' | undefined {
    const { halfOpenMaxCalls: all, failureRateThreshold, slowCallRateThreshold = Infinity } = this.#options;
    const missing = all - this.#finished;
    if ((this.#failed * 100) / all >= failureRateThreshold) return 'open';
    if ((this.#slow * 100) / all >= slowCallRateThreshold) return 'open';

    const failuresAtMost = ((this.#failed + missing) * 100) / all;
    const slowAtMost = ((this.#slow + missing) * 100) / all;
    const certain = failuresAtMost < failureRateThreshold && slowAtMost < slowCallRateThreshold;
    return certain ? 'close' : undefined;
  }

  #count({ failed, slow }: Outcome): void {
    this.#finished += 1;
    if (failed) this.#failed += 1;
    if (slow) this.#slow += 1;
  }
}

import { brand } from '../brand.js';
import { now } from '../clock.js';
import { CircuitOpenError, DeadlineExceededError, isClientGone, isDiscounted, isRejection } from '../errors.js';
import { reportError, type CircuitState } from '../events.js';
import type { Execution } from '../execution.js';
import { decision } from '../options.js';
import { StagePolicy } from '../policy.js';
import { limitBehind, type LimitError } from '../time-limit-error.js';
import { exponentialDelay } from './backoff.js';
import {
  resolveCircuitBreakerName,
  resolveCircuitBreakerOptions,
  type CircuitBreakerOptions,
  type ResolvedCircuitBreakerOptions,
} from './circuit-breaker-options.js';
import { CallsInFlight, Permit, TrackedPermit } from './calls-in-flight.js';
import { ProbePeriod } from './probe-period.js';
import { createSlidingWindow, FINE, type SlidingWindow } from './sliding-window.js';

export interface CircuitBreakerStats {
  /** Calls in the window; while open still those that opened it. */
  readonly total: number;
  readonly failures: number;
  /** In percent; 0 when the window is empty. */
  readonly failureRate: number;
  /** With `slowCallDuration` only: slow calls, those in flight included. */
  readonly slowCalls?: number;
  readonly slowCallRate?: number;
}

/**
 * An era of the breaker. Outcomes of calls that were admitted in another era change nothing.
 *
 * @internal
 */
type Era =
  | { readonly state: 'closed' }
  | { readonly state: 'open'; readonly until: number }
  | { readonly state: 'half-open'; readonly probes: ProbePeriod };

const LEAST_LEASE = 30_000;
const LEASE_MARGIN = 1_000;

/**
 * Stops calling what is broken. Closed, it counts the outcomes of calls in a window and opens when too many of them
 * failed; open, it refuses at once; after `openDuration` it is half-open and lets a few probes through, whose outcomes
 * close or reopen it. It holds no timer: times are looked at on the next call or read of `state`.
 */
export class CircuitBreakerPolicy extends StagePolicy {
  readonly options: ResolvedCircuitBreakerOptions;
  /** Whether it matters when a call ends. */
  private readonly isTimed: boolean;
  private window: SlidingWindow;
  private era: Era = { state: 'closed' };
  /** What calls of this era hold of which nobody will ask how long they took. */
  private timeless = new Permit(this.era, 0, 0);
  private inFlight = new CallsInFlight();
  private failuresInARow = 0;
  private failedPeriods = 0;

  constructor(options: CircuitBreakerOptions = {}) {
    super(resolveCircuitBreakerName(options));
    this.options = resolveCircuitBreakerOptions(options);
    const { slidingWindow, slowCallDuration } = this.options;
    this.isTimed = slidingWindow.type === 'time' || slowCallDuration !== undefined;
    this.window = createSlidingWindow(slidingWindow);
  }

  /** The state now. Reading it makes an open breaker whose time is over half-open, and ends the lease of a lost probe. */
  get state(): CircuitState {
    this.catchUp(now(), undefined);

    return this.era.state;
  }

  get stats(): CircuitBreakerStats {
    const at = now();
    const total = this.window.total(at);
    const failures = this.window.failures(at);
    const stats = { total, failures, failureRate: percentage(failures, total) };
    const { slowCallDuration } = this.options;
    if (slowCallDuration === undefined) return stats;

    this.inFlight.advance(at, slowCallDuration);
    const slowCalls = this.window.slow(at) + this.inFlight.slow;
    return { ...stats, slowCalls, slowCallRate: percentage(slowCalls, total + this.inFlight.slow) };
  }

  /** Opens it for `openDuration`, from now; for tests and for operators. */
  trip(): void {
    this.failedPeriods = 0;
    this.open(now(), undefined);
  }

  /** Closes it, with an empty window. Outcomes of calls in flight no longer count. */
  reset(): void {
    this.close(undefined);
  }

  /** @internal Inside itself it would wait for its own slot, or refuse its own probe. */
  override get repeatable(): boolean {
    return false;
  }

  /** @internal */
  enter(execution: Execution, at: number): boolean {
    const permit = this.admit(execution, at);
    if (permit === undefined) return false;

    execution.setFrame(at, permit);
    return true;
  }

  /** @internal */
  leave(execution: Execution, at: number): boolean {
    const permit = execution.frame(at) as Permit | undefined;
    if (permit === undefined) return true;

    execution.setFrame(at, undefined);
    if (permit instanceof TrackedPermit && permit.era === this.era) this.inFlight.remove(permit);
    const failed = execution.ok ? false : this.judge(execution, permit);
    if (permit.era !== this.era) return true;

    if (this.era.state === 'closed') {
      if (failed !== undefined) this.record(execution, permit, failed);
    } else {
      this.settleProbe(execution, permit, failed);
    }
    return true;
  }

  private admit(execution: Execution, at: number): Permit | undefined {
    const { era } = this;
    if (era.state !== 'closed' || this.options.slowCallDuration !== undefined) return this.admitByTime(execution, at);

    return execution.canBeCutAround(at) ? new Permit(era, now(), execution.waitedMs()) : this.timeless;
  }

  private admitByTime(execution: Execution, at: number): Permit | undefined {
    const time = now();
    const { step } = execution;
    this.catchUp(time, execution.source);
    // A listener has given this call up.
    if (execution.step !== step) return undefined;
    if (this.era.state === 'open') return this.turnAway(execution, at, Math.ceil(this.era.until - time));

    if (this.era.state === 'closed') {
      const tracked = new TrackedPermit(this.era, time, execution.waitedMs());
      this.inFlight.add(tracked);
      return tracked;
    }
    const permit = new Permit(this.era, time, execution.waitedMs());
    if (!this.era.probes.admit(permit, time + this.leaseMs(execution, at))) return this.turnAway(execution, at, 0);

    return permit;
  }

  private turnAway(execution: Execution, at: number, retryAfterMs: number): undefined {
    const { step, source } = execution;
    if (this.isObserved('circuit-rejected')) {
      this.emit({ type: 'circuit-rejected', policy: this.name, source, retryAfterMs });
    }
    if (execution.step === step) execution.refuse(at, new CircuitOpenError(this.name, retryAfterMs));
    return undefined;
  }

  /** Does what the time that has passed asks for. */
  private catchUp(time: number, source: string | undefined): void {
    const { era } = this;
    const { slowCallDuration } = this.options;
    if (era.state === 'open' && time >= era.until) {
      this.change({ state: 'half-open', probes: new ProbePeriod(this.options) }, source);
    } else if (era.state === 'half-open') {
      era.probes.revokeOverdue(time);
      this.decide(era.probes, time, source);
    } else if (slowCallDuration !== undefined) {
      this.inFlight.advance(time, slowCallDuration);
      if (this.inFlight.slow > 0) this.checkRates(time, source);
    }
  }

  /** Whether an error is a failure of the dependency; `undefined` when it says nothing about it. */
  private judge(execution: Execution, permit: Permit): boolean | undefined {
    const { value, cutting, step } = execution;
    const limit = limitBehind(value);
    if (isRejection(value) || isDiscounted(limit ?? value) || isClientGone(value)) return undefined;
    if (!cutting && (execution.flawed || execution.leftBy() !== undefined)) return undefined;
    const cut = cutting || limit instanceof DeadlineExceededError;
    if (cut && !ranLongEnough(limit, execution, permit)) return undefined;

    try {
      const failed = decision(this.options.recordIf(value), 'recordIf');
      // A caller that leaves inside of recordIf leaves nothing to count either.
      return failed && execution.step === step ? true : undefined;
    } catch (error) {
      if (cutting) reportError(`recordIf of circuit breaker "${this.name}" failed`, error);
      else execution.replaceByFlaw(error);
      return true;
    }
  }

  private record(execution: Execution, permit: Permit, failed: boolean): void {
    const time = this.isTimed ? now() : 0;
    const slow = this.wasSlow(permit, time);
    const isFine = !failed && !slow;
    this.window.record(isFine ? FINE : { failed, slow }, time);
    this.failuresInARow = failed ? this.failuresInARow + 1 : 0;
    if (isFine && this.inFlight.slow === 0 && this.window.isSpotless(time)) return;

    this.checkRates(time, execution.source);
  }

  private checkRates(time: number, source: string | undefined): void {
    const { options, window } = this;
    if (this.failuresInARow >= (options.consecutiveFailures ?? Infinity)) return this.open(now(), source);

    const slowInFlight = this.inFlight.slow;
    const total = window.total(time);
    if (total + slowInFlight < options.minimumCalls) return;

    const fails =
      total >= options.minimumCalls && percentage(window.failures(time), total) >= options.failureRateThreshold;
    const slow = window.slow(time) + slowInFlight;
    const lags = percentage(slow, total + slowInFlight) >= (options.slowCallRateThreshold ?? Infinity);
    if (fails || lags) this.open(now(), source);
  }

  private settleProbe(execution: Execution, permit: Permit, failed: boolean | undefined): void {
    if (this.era.state !== 'half-open') return;

    const { probes } = this.era;
    const time = now();
    probes.revokeOverdue(time);
    probes.settle(permit, failed === undefined ? undefined : { failed, slow: this.wasSlow(permit, time) });
    this.decide(probes, time, execution.source);
  }

  private wasSlow({ enteredAt }: Permit, time: number): boolean {
    return time - enteredAt >= (this.options.slowCallDuration ?? Infinity);
  }

  private decide(probes: ProbePeriod, time: number, source: string | undefined): void {
    const verdict = probes.verdict();
    if (verdict === 'close') {
      this.close(source);
    } else if (verdict === 'open') {
      this.failedPeriods += 1;
      this.open(time, source);
    }
  }

  private open(time: number, source: string | undefined): void {
    this.change({ state: 'open', until: time + this.openMs() }, source);
  }

  private openMs(): number {
    const { openDuration, openBackoff } = this.options;
    if (openBackoff === undefined || this.failedPeriods === 0) return openDuration;

    const { factor, jitter, maxDuration } = openBackoff;
    const growing = { delayMs: openDuration, factor, maxDelayMs: Math.max(openDuration, maxDuration), jitter };
    return exponentialDelay(growing, this.failedPeriods + 1, Math.random);
  }

  private close(source: string | undefined): void {
    this.window = createSlidingWindow(this.options.slidingWindow);
    this.failedPeriods = 0;
    this.change({ state: 'closed' }, source);
  }

  /** Begins a new era, so that outcomes of the one before change nothing; tells of it when the state is another one. */
  private change(era: Era, source: string | undefined): void {
    const from = this.era.state;
    this.era = era;
    this.timeless = new Permit(era, 0, 0);
    this.inFlight = new CallsInFlight();
    this.failuresInARow = 0;
    const to = era.state;
    if (from === to || !this.isObserved(`circuit-${to}`)) return;

    this.emit({ type: `circuit-${to}`, policy: this.name, ...(source !== undefined && { source }), from, to });
  }

  private leaseMs(execution: Execution, at: number): number {
    const { probeLease, openDuration } = this.options;

    return probeLease ?? Math.max(openDuration, execution.pipeline.limitInside(at) + LEASE_MARGIN, LEAST_LEASE);
  }
}

brand(CircuitBreakerPolicy, Symbol.for('holdfast.policy.circuit-breaker'));

/**
 * A call cut by a timeout around the breaker counts when it had run for at least half of that limit: otherwise an
 * outer limit would hide a dependency that hangs. What a caller aborts says nothing about the dependency.
 */
function ranLongEnough(limit: LimitError | undefined, execution: Execution, permit: Permit): boolean {
  if (limit === undefined) return false;

  const limitMs = limit instanceof DeadlineExceededError ? limit.budgetMs : limit.timeoutMs;
  const ranMs = now() - permit.enteredAt - (execution.waitedMs() - permit.waitedBefore);
  return ranMs >= limitMs / 2;
}

function percentage(part: number, whole: number): number {
  return whole === 0 ? 0 : (part * 100) / whole;
}

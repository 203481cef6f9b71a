import { CircuitOpenError } from 'holdfast';
import type { Adapter, BreakerPolicy, BreakerSpec, Work } from '../adapter.js';
import { started, untilAbort } from './running.js';

/** A stretch of time between two changes of state. */
export type Era =
  | { readonly state: 'closed' }
  | { readonly state: 'open'; readonly until: number }
  | {
      readonly state: 'half-open';
      /** Places taken, by probes that run and by those that have decided. */
      places: number;
      good: number;
      failed: number;
    };

export interface Call {
  readonly era: Era;
  readonly startedAt: number;
}

/** Calls that ended in one millisecond; in a window of calls, one of them. */
export interface Entry {
  readonly at: number;
  calls: number;
  failed: number;
  slow: number;
}

export type Outcome = 'good' | 'failed' | 'ignored';

type Listener = Parameters<BreakerPolicy['onState']>[0];

/**
 * A circuit breaker as a textbook has it: right, and slow. Mutants of it are wrong in one method, so that each
 * scenario is known to pass with another implementation than ours, and to fail for its own reason.
 */
export class TextbookBreaker implements BreakerPolicy {
  protected era: Era = { state: 'closed' };
  protected entries: Entry[] = [];
  protected readonly inFlight = new Set<Call>();
  private readonly listeners: Listener[] = [];

  constructor(
    protected readonly spec: BreakerSpec,
    protected readonly ours: Required<Adapter>,
  ) {}

  state(): Era['state'] {
    this.catchUp();

    return this.era.state;
  }

  onState(listener: Listener): void {
    this.listeners.push(listener);
  }

  callsInWindow(): number {
    return sum(this.recent(), 'calls');
  }

  async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const call = this.admit();
    try {
      const value = await this.attempt(work, signal);
      this.leave(call, 'good');
      return value;
    } catch (error) {
      this.leaveFailed(call, error, signal);
      throw error;
    }
  }

  protected attempt<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
    return untilAbort(started(work, signal), signal);
  }

  protected admit(): Call {
    this.catchUp();
    const { era } = this;
    if (era.state === 'open') this.refuse(era.until - Date.now());
    if (era.state === 'half-open' && !this.takePlace(era)) this.refuse(0);

    const call = { era, startedAt: Date.now() };
    this.inFlight.add(call);
    return call;
  }

  protected refuse(waitMs: number): never {
    throw new CircuitOpenError('textbook', waitMs);
  }

  protected takePlace(era: Era & { state: 'half-open' }): boolean {
    if (era.places >= this.spec.probes) return false;

    era.places += 1;
    return true;
  }

  /** An error inside of the filter counts, so that no place stays taken. */
  protected leaveFailed(call: Call, error: unknown, signal: AbortSignal | undefined): void {
    let outcome: Outcome = 'failed';
    try {
      outcome = this.judge(error, signal);
    } finally {
      this.leave(call, outcome);
    }
  }

  protected judge(error: unknown, signal: AbortSignal | undefined): Outcome {
    if (this.isCancelled(error, signal) || this.isRefusal(error)) return 'ignored';

    return (this.spec.recordIf?.(error) ?? true) ? 'failed' : 'ignored';
  }

  protected isCancelled(error: unknown, signal: AbortSignal | undefined): boolean {
    return signal?.aborted === true && error === signal.reason;
  }

  protected isRefusal(error: unknown): boolean {
    return this.ours.refusal(error) !== undefined;
  }

  protected leave(call: Call, outcome: Outcome): void {
    this.inFlight.delete(call);
    if (!this.isCurrent(call)) return;

    if (this.era.state === 'half-open') this.settleProbe(this.era, outcome);
    else if (this.era.state === 'closed' && outcome !== 'ignored') this.record(call, outcome);
  }

  /** Outcomes of an earlier era change nothing. */
  protected isCurrent(call: Call): boolean {
    return call.era === this.era;
  }

  protected settleProbe(era: Era & { state: 'half-open' }, outcome: Outcome): void {
    if (outcome === 'ignored') era.places -= 1;
    else era[outcome] += 1;

    const { probes, failureRate } = this.spec;
    if ((era.failed * 100) / probes >= failureRate) this.open();
    else if (era.good + era.failed === probes) this.close();
  }

  protected record({ startedAt }: Call, outcome: Outcome): void {
    const at = Date.now();
    const entry = this.entryOf(at);
    entry.calls += 1;
    if (outcome === 'failed') entry.failed += 1;
    if (at - startedAt >= (this.spec.slow?.ms ?? Infinity)) entry.slow += 1;
    this.checkRates();
  }

  private entryOf(at: number): Entry {
    const last = this.entries.at(-1);
    if (last?.at === at && 'ms' in this.spec.window) return last;

    const entry = { at, calls: 0, failed: 0, slow: 0 };
    this.entries.push(entry);
    return entry;
  }

  protected checkRates(): void {
    const entries = this.recent();
    const calls = sum(entries, 'calls');
    const lagging = this.lagging();
    if (!this.isEnough(calls + lagging)) return;

    const slow = sum(entries, 'slow') + lagging;
    const fails = this.isEnough(calls) && (sum(entries, 'failed') * 100) / calls >= this.spec.failureRate;
    const lags = slow > 0 && (slow * 100) / (calls + lagging) >= (this.spec.slow?.rate ?? Infinity);
    if (fails || lags) this.open();
  }

  protected isEnough(calls: number): boolean {
    return calls > 0 && calls >= this.spec.minimumCalls;
  }

  /** Calls in flight that are slow already. */
  protected lagging(): number {
    const { slow } = this.spec;
    if (slow === undefined) return 0;

    return [...this.inFlight].filter(({ era, startedAt }) => era === this.era && Date.now() - startedAt >= slow.ms)
      .length;
  }

  /** What the window holds now. */
  protected recent(): readonly Entry[] {
    const { window } = this.spec;
    if ('calls' in window) return this.entries.slice(-window.calls);

    return this.entries.filter(({ at }) => this.isRecent(at, window.ms));
  }

  protected isRecent(at: number, windowMs: number): boolean {
    return Date.now() - at < windowMs;
  }

  protected catchUp(): void {
    if (this.era.state === 'open' && Date.now() >= this.era.until) {
      this.change({ state: 'half-open', places: 0, good: 0, failed: 0 });
    } else if (this.era.state === 'closed' && this.lagging() > 0) {
      this.checkRates();
    }
  }

  protected open(): void {
    this.change({ state: 'open', until: Date.now() + this.spec.openMs });
  }

  protected close(): void {
    this.entries = [];
    this.change({ state: 'closed' });
  }

  protected change(era: Era): void {
    this.era = era;
    for (const listener of this.listeners) listener(era.state);
  }
}

function sum(entries: readonly Entry[], field: 'calls' | 'failed' | 'slow'): number {
  return entries.reduce((total, entry) => total + entry[field], 0);
}

/** Our own library with another breaker. */
export function withBreaker(Breaker: typeof TextbookBreaker): (ours: Required<Adapter>) => Required<Adapter> {
  return (ours) => ({ ...ours, breaker: (spec) => new Breaker(spec, ours) });
}

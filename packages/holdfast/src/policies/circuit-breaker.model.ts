type Limits = 'failureRateThreshold' | 'minimumCalls' | 'openDuration' | 'halfOpenMaxCalls' | 'probeLease';
type Window = { readonly type: 'count' | 'time'; readonly size: number };
export type BreakerSettings = Record<Limits | 'consecutiveFailures', number> & { readonly slidingWindow: Window };
export type Admitted = { readonly at: number; failed?: boolean };

/** What a circuit breaker has to do, told again plainly. `call` lets a call in, or says for how long it is refused. */
export class BreakerModel {
  readonly states = ['closed'];
  private outcomes: { at: number; failed: boolean }[] = [];
  private admitted: Admitted[] = [];
  private openUntil = 0;

  constructor(private readonly settings: BreakerSettings) {}

  look(now: number): void {
    if (this.states.at(-1) === 'open' && now >= this.openUntil) this.enter('half-open');
    if (this.states.at(-1) !== 'half-open') return;
    const { halfOpenMaxCalls, failureRateThreshold, probeLease } = this.settings;
    for (const probe of this.admitted) if (now >= probe.at + probeLease) probe.failed ??= true;
    const share = (failed: boolean): number => this.admitted.filter((probe) => probe.failed === failed).length * 100;
    if (share(true) / halfOpenMaxCalls >= failureRateThreshold) this.enter('open', now);
    else if (100 - share(false) / halfOpenMaxCalls < failureRateThreshold) this.enter('closed');
  }

  call(now: number): Admitted | number {
    this.look(now);
    if (this.states.at(-1) === 'open') return this.openUntil - now;
    if (this.states.at(-1) === 'half-open' && this.admitted.length === this.settings.halfOpenMaxCalls) return 0;
    return this.admitted[this.admitted.push({ at: now }) - 1] as Admitted;
  }

  settle(call: Admitted, failed: boolean | undefined, now: number): void {
    if (this.admitted.includes(call)) this.look(now);
    if (!this.admitted.includes(call) || call.failed !== undefined) return;
    if (failed === undefined) return void this.admitted.splice(this.admitted.indexOf(call), 1);
    call.failed = failed;
    if (this.states.at(-1) === 'half-open') return this.look(now);
    this.outcomes.push({ at: now, failed });
    const { minimumCalls, failureRateThreshold, consecutiveFailures } = this.settings;
    const { total, failureRate } = this.stats(now);
    const row = this.outcomes.length - 1 - this.outcomes.findLastIndex((outcome) => !outcome.failed);
    if (row < consecutiveFailures && (total < minimumCalls || failureRate < failureRateThreshold)) return;
    this.enter('open', now);
  }

  stats(now: number): { total: number; failures: number; failureRate: number } {
    const { type, size } = this.settings.slidingWindow;
    const isRecent = ({ at }: { at: number }): boolean => now - Math.floor(at / (size / 10)) * (size / 10) < size;
    const window = type === 'count' ? this.outcomes.slice(-size) : this.outcomes.filter(isRecent);
    const failures = window.filter((outcome) => outcome.failed).length;
    return { total: window.length, failures, failureRate: (failures * 100) / Math.max(1, window.length) };
  }

  enter(state: 'closed' | 'open' | 'half-open', now = 0): void {
    [this.admitted, this.openUntil] = [[], now + this.settings.openDuration];
    if (state === 'closed') this.outcomes = [];
    if (this.states.at(-1) !== state) this.states.push(state);
  }
}

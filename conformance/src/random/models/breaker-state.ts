import type { BreakerRecipe } from '../scenario.js';

/** What a breaker remembers of a call that it has let in. */
export interface Admitted {
  readonly at: number;
  failed: boolean | undefined;
}

type StateName = 'closed' | 'open' | 'half-open';

/** A circuit breaker, told again plainly. Copies of it go on apart where one cannot know what an outcome counts for. */
export class BreakerState {
  name: StateName = 'closed';
  /** Every state that it has entered. */
  entered: readonly StateName[] = [];
  /** How often a probe was lost. */
  lost = 0;
  private outcomes: readonly { readonly at: number; readonly failed: boolean }[] = [];
  /** By the numbers of the calls. */
  private admitted: ReadonlyMap<number, Admitted> = new Map();
  private openUntil = 0;

  constructor(private readonly recipe: BreakerRecipe) {}

  copy(): BreakerState {
    const copy = Object.assign(new BreakerState(this.recipe), this);
    copy.admitted = new Map([...this.admitted].map(([call, admitted]) => [call, { ...admitted }]));

    return copy;
  }

  /** The same for two that do the same from here on. */
  get signature(): string {
    const { name, entered, outcomes, openUntil, admitted } = this;

    return JSON.stringify([
      name,
      entered,
      outcomes,
      openUntil,
      [...admitted].map(([call, { failed }]) => [call, failed]),
    ]);
  }

  /** Lets a call in, or says for how many milliseconds it is refused. */
  call(call: number, now: number): number | undefined {
    this.look(now);
    if (this.name === 'open') return this.openUntil - now;
    if (this.name === 'half-open' && this.admitted.size === this.recipe.probes) return 0;

    this.admitted = new Map([...this.admitted, [call, { at: now, failed: undefined }]]);
    return undefined;
  }

  /** @param failed `undefined` says nothing about the dependency. */
  settle(call: number, failed: boolean | undefined, now: number): void {
    if (this.name === 'half-open') {
      if (this.admitted.has(call)) this.look(now);
      this.settleProbe(call, failed, now);
      return;
    }
    if (!this.take(call) || failed === undefined || this.name === 'open') return;

    this.outcomes = [...this.outcomes, { at: now, failed }];
    const { minimumCalls, threshold, inARow = Infinity } = this.recipe;
    const { total, failures } = this.stats(now);
    const row = this.outcomes.length - 1 - this.outcomes.findLastIndex((outcome) => !outcome.failed);
    const fails = total >= minimumCalls && (failures * 100) / total >= threshold;
    // A call that did not fail opens nothing by itself, but may bring the window up to its minimum.
    if (row >= inARow || fails) this.enter('open', now);
  }

  stats(now: number): { readonly total: number; readonly failures: number } {
    const { type, size } = this.recipe.window;
    const width = size / 10;
    const isRecent = ({ at }: { readonly at: number }): boolean =>
      Math.floor(now / width) - Math.floor(at / width) < 10;
    const window = type === 'count' ? this.outcomes.slice(-size) : this.outcomes.filter(isRecent);

    return { total: window.length, failures: window.filter(({ failed }) => failed).length };
  }

  /** Begins another era, in which calls of this one count for nothing. */
  enter(name: StateName, now: number): void {
    this.admitted = new Map();
    this.openUntil = now + this.recipe.openMs;
    if (name === 'closed') this.outcomes = [];
    if (name !== this.name) this.entered = [...this.entered, name];
    this.name = name;
  }

  private look(now: number): void {
    if (this.name === 'open' && now >= this.openUntil) this.enter('half-open', now);
    if (this.name !== 'half-open') return;

    for (const probe of this.admitted.values()) {
      if (probe.failed !== undefined || now < probe.at + this.recipe.lease) continue;
      probe.failed = true;
      this.lost += 1;
    }
    this.decide(now);
  }

  private settleProbe(call: number, failed: boolean | undefined, now: number): void {
    const probe = this.admitted.get(call);
    if (probe === undefined || probe.failed !== undefined) return;
    if (failed === undefined) return void this.take(call);

    probe.failed = failed;
    this.decide(now);
  }

  private decide(now: number): void {
    const { probes, threshold } = this.recipe;
    const share = (failed: boolean): number =>
      ([...this.admitted.values()].filter((probe) => probe.failed === failed).length * 100) / probes;
    if (share(true) >= threshold) this.enter('open', now);
    else if (100 - share(false) < threshold) this.enter('closed', now);
  }

  private take(call: number): boolean {
    const admitted = new Map(this.admitted);
    const had = admitted.delete(call);
    this.admitted = admitted;

    return had;
  }
}

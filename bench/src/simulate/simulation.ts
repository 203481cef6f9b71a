import { adaptive } from 'holdfast';
import { NaiveRule } from './naive-rule.js';
import { PHASES, type Phase } from './phases.js';
import { VirtualServer, type LimitRule } from './virtual-server.js';

export type RuleName = 'quantile' | 'rto' | 'mean' | 'naive';

/** How one rule got through one phase. */
export interface Report {
  readonly phase: Phase;
  readonly rule: RuleName;
  /** Cut calls, of all. */
  readonly timeouts: number;
  /** Cut calls among the usual ones, of these. */
  readonly goodCut: number;
  /** The same once the limit was above the 99th percentile. */
  readonly goodCutSettled: number;
  /** Of the server at the end of the phase. */
  readonly p99Ms: number;
  /** At the end of the phase. */
  readonly limitMs: number;
  /** What it took until the limit was above the 99th percentile of the moment; `undefined` when it never was. */
  readonly toAbove: Way | undefined;
  /** Calls until the limit was below twice what it was at the end of the steady phase. Of returns only. */
  readonly toBack: number | undefined;
}

export interface Way {
  readonly calls: number;
  /** How many of them were cut. */
  readonly cuts: number;
}

export const RULES: readonly RuleName[] = ['quantile', 'rto', 'mean', 'naive'];

/** Every rule through every phase, phase by phase. All rules meet the same latencies. */
export function simulate(seed: number): readonly Report[] {
  const lives = RULES.map((rule) => new Life(rule, seed));

  return PHASES.flatMap((phase) => lives.map((life) => life.goThrough(phase)));
}

/** A server and the rule that limits the calls to it. */
class Life {
  readonly #name: RuleName;
  readonly #rule: LimitRule;
  readonly #server: VirtualServer;
  #steadyMs = 0;

  constructor(name: RuleName, seed: number) {
    this.#name = name;
    this.#rule = name === 'naive' ? new NaiveRule() : adaptive({ estimator: name });
    this.#server = new VirtualServer(this.#rule, seed);
  }

  goThrough(phase: Phase): Report {
    const tally = new Tally(this.#steadyMs * 2);
    this.#server.spikes = phase.spikes ?? { share: 0, times: 1 };
    for (let call = 1; call <= phase.calls; call++) {
      this.#server.scale = phase.scale(call / phase.calls);
      tally.look(this.#rule.limitMs, this.#server.p99Ms);
      tally.count(this.#server.call());
    }
    tally.look(this.#rule.limitMs, this.#server.p99Ms);
    if (phase.name === 'steady') this.#steadyMs = this.#rule.limitMs;

    return {
      phase,
      rule: this.#name,
      timeouts: tally.cuts / tally.calls,
      goodCut: tally.goodCut / tally.good,
      goodCutSettled: tally.goodSettled === 0 ? 0 : tally.goodCutSettled / tally.goodSettled,
      p99Ms: this.#server.p99Ms,
      limitMs: this.#rule.limitMs,
      toAbove: tally.toAbove,
      toBack: phase.isReturn ? tally.toBack : undefined,
    };
  }
}

/** What is counted over a phase. */
class Tally {
  calls = 0;
  cuts = 0;
  good = 0;
  goodCut = 0;
  goodSettled = 0;
  goodCutSettled = 0;
  toAbove: Way | undefined = undefined;
  toBack: number | undefined = undefined;
  readonly #backBelowMs: number;

  constructor(backBelowMs: number) {
    this.#backBelowMs = backBelowMs;
  }

  /** Before each call, and after the last. */
  look(limitMs: number, p99Ms: number): void {
    if (limitMs > p99Ms) this.toAbove ??= { calls: this.calls, cuts: this.cuts };
    if (limitMs < this.#backBelowMs) this.toBack ??= this.calls;
  }

  count({ good, cut }: { readonly good: boolean; readonly cut: boolean }): void {
    const settled = this.toAbove !== undefined;
    this.calls += 1;
    if (cut) this.cuts += 1;
    if (!good) return;

    this.good += 1;
    if (cut) this.goodCut += 1;
    if (settled) this.goodSettled += 1;
    if (settled && cut) this.goodCutSettled += 1;
  }
}

/** What executions have to reach, each in at least {@link LEAST_PERCENT} of them. */
export const STATES = [
  'open',
  'half-open',
  'closed again',
  'queue full',
  'queue timeout',
  'granted from the queue',
  'deadline expired',
  'refused without time',
  'timed out',
  'abandoned',
  'retried',
  'aborted while it waits',
  'aborted in a queue',
  'aborted in a callback',
  'aborted by the call around',
  'token wait',
  'rate limited',
  'probe lease lost',
  'fallback used',
  'own error of a predicate',
  'section degraded',
  'section skipped',
  'section required and failed',
  'nested',
  'clock stepped',
  'late timer',
  'late outcome dropped',
] as const;

export type State = (typeof STATES)[number];

export const LEAST_PERCENT = 1;

/** In how many of so many executions each state was reached. */
export interface Counts {
  readonly executions: number;
  readonly reached: Readonly<Record<State, number>>;
}

/** In how many executions each state was reached. */
export class Coverage {
  private executions = 0;
  private readonly reached = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<State, number>;

  /** As they are now; they go on counting. */
  get counts(): Counts {
    return { executions: this.executions, reached: this.reached };
  }

  add(reached: ReadonlySet<State>): void {
    this.executions += 1;
    for (const state of reached) this.reached[state] += 1;
  }

  /** Counts what was counted elsewhere. */
  addAll({ executions, reached }: Counts): void {
    this.executions += executions;
    for (const state of STATES) this.reached[state] += reached[state];
  }

  percentOf(state: State): number {
    return (this.reached[state] * 100) / Math.max(1, this.executions);
  }

  /** States that too few executions have reached. */
  get missed(): readonly State[] {
    return STATES.filter((state) => this.percentOf(state) < LEAST_PERCENT);
  }

  get lines(): readonly string[] {
    return STATES.map((state) => `${this.percentOf(state).toFixed(1).padStart(6)} %  ${state}`);
  }
}

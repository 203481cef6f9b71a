export type Call = () => PromiseLike<unknown>;

/** The sides of a comparison: each is called over and over, one call after the other. */
export interface Sides {
  readonly ours: Call;
  readonly other: Call;
  /** The work itself, awaited without any policy: what a bare async call costs in this process. */
  readonly bare: Call;
  /** Every call of both sides is refused, and the refusal is caught by the caller. */
  readonly refuses?: boolean;
  /** Whether a call measures itself, and gives the figure: what counts is not what the calls cost this process. */
  readonly gives?: 'value';
  /** One timer of each of these durations is kept pending, as in a service under load there always is one. */
  readonly pendingMs?: readonly number[];
}

export type SideName = 'ours' | 'other' | 'bare';

export const SIDE_NAMES: readonly SideName[] = ['ours', 'other', 'bare'];

/** What every call in the cases of the engine does: an async function that has its answer at once. */
export async function answerAtOnce(): Promise<number> {
  return 42;
}

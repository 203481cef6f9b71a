/** A timer may fire up to a millisecond before its time, by the clock that this measures with. */
const EARLY_MS = 1;

export interface Timed<T> {
  readonly ms: number;
  readonly value: T;
}

export async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  const startedAt = performance.now();
  const value = await work();

  return { ms: performance.now() - startedAt, value };
}

/** Whether something took that long, and not much longer: as much as `slackMs` allows. */
export function tookAbout(ms: number, expectedMs: number, slackMs: number): boolean {
  return ms >= expectedMs - EARLY_MS && ms <= expectedMs + slackMs;
}

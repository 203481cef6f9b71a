import assert from 'node:assert/strict';
import type { Attempt, BreakerPolicy, BreakerSpec, Policy, Work } from './adapter.js';
import type { Stage } from './guarantee.js';
import type { VirtualClock } from './virtual-clock.js';

/** Work that scenarios share. */

export const fine = (): Promise<string> => Promise.resolve('fine');
export const failing = (): Promise<never> => Promise.reject(new Error('down'));
export const hanging = (): Promise<never> => new Promise<never>(() => {});

/** Work that hangs until the signal of its attempt aborts, or that of its caller where it is given none. */
export function cooperative(callers: AbortSignal): Work<never> {
  return ({ signal = callers }: Attempt) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
}

/** Work that fails at once so many times, and is done from then on. */
export class Unreliable {
  /** What it threw, in order. */
  readonly errors: Error[] = [];
  /** When each attempt began. */
  readonly startedAt: number[] = [];
  private readonly clock: VirtualClock;
  private readonly failures: number;
  private readonly details: object;

  /** @param details What each error carries. */
  constructor(clock: VirtualClock, failures = Infinity, details: object = {}) {
    this.clock = clock;
    this.failures = failures;
    this.details = details;
  }

  get calls(): number {
    return this.startedAt.length;
  }

  readonly work = async (): Promise<string> => {
    this.startedAt.push(this.clock.now);
    if (this.calls > this.failures) return 'done';

    const error = Object.assign(new Error(`failure ${this.calls}`), this.details);
    this.errors.push(error);
    throw error;
  };
}

/** Calls that fail, one after the other. */
export async function fail(policy: Policy, times: number): Promise<void> {
  for (let call = 0; call < times; call += 1) await policy.run(failing).catch(() => {});
}

export async function succeed(policy: Policy, times: number): Promise<void> {
  for (let call = 0; call < times; call += 1) await policy.run(fine);
}

/** Opens at the fourth call when half of them have failed, for a second; then one probe decides. */
export const BREAKER: BreakerSpec = {
  failureRate: 50,
  minimumCalls: 4,
  window: { ms: 60_000 },
  openMs: 1_000,
  probes: 1,
};

/** A breaker that has just opened. */
export async function opened({ library }: Stage, spec: Partial<BreakerSpec> = {}): Promise<BreakerPolicy> {
  const whole = { ...BREAKER, ...spec };
  const breaker = library.breaker(whole);
  await fail(breaker, whole.minimumCalls);
  assert.equal(breaker.state(), 'open', `${whole.minimumCalls} failures did not open it`);
  return breaker;
}

/** A breaker whose time is just over. */
export async function reopenable(stage: Stage, spec: Partial<BreakerSpec> = {}): Promise<BreakerPolicy> {
  const breaker = await opened(stage, spec);
  await stage.clock.tick(spec.openMs ?? BREAKER.openMs);
  return breaker;
}

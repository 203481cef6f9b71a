import assert from 'node:assert/strict';
import type { Attempt, BackoffSpec, BreakerPolicy, BreakerSpec, BulkheadPolicy, Policy, Work } from './adapter.js';
import type { Stage } from './guarantee.js';
import { observe } from './observed.js';
import type { VirtualClock } from './virtual-clock.js';

/** What scenarios share: work, policies that have come to where they begin, and what they make sure of first. */

export const fine = (): Promise<string> => Promise.resolve('fine');
export const failing = (): Promise<never> => Promise.reject(new Error('down'));
export const hanging = (): Promise<never> => new Promise<never>(() => {});

/**
 * Work that hangs until the signal of its attempt aborts, or that of its caller where it is given none.
 *
 * @param onStart Called when it begins.
 */
export function cooperative(callers: AbortSignal, onStart: () => void = () => {}): Work<never> {
  return ({ signal = callers }: Attempt) =>
    new Promise<never>((_resolve, reject) => {
      onStart();
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

/** That a limit ends a call at all, which some of its guarantees say nothing of. */
export async function assertLimits({ library, clock }: Stage, ms = 100): Promise<void> {
  const call = observe(library.timeout(ms).run(hanging));
  await clock.tick(ms);
  assert.equal(call.state, 'rejected', `a limit of ${ms} ms does not end a call`);
}

/** How many calls of a bulkhead that is idle begin, which its counts need not tell: they take its slots and keep them. */
export async function assertSlots(
  bulkhead: BulkheadPolicy,
  { clock, slots }: { readonly clock: VirtualClock; readonly slots: number },
): Promise<void> {
  let begun = 0;
  const work: Work<never> = () => {
    begun += 1;
    return hanging();
  };
  for (let call = 0; call <= slots; call += 1) void observe(bulkhead.run(work));
  await clock.settle();
  assert.equal(begun, slots, `${begun} of ${slots + 1} calls began, and ${slots} slots should be free`);
}

/** Calls that fail, one after the other. */
export async function fail(policy: Policy, times: number): Promise<void> {
  for (let call = 0; call < times; call += 1) await policy.run(failing).catch(() => {});
}

/** That a breaker which has stayed closed is one at all: so many more failures open it. */
export async function assertOpens(breaker: BreakerPolicy, failures: number): Promise<void> {
  await fail(breaker, failures);
  assert.equal(breaker.state(), 'open', `${failures} failures more did not open it`);
}

export async function succeed(policy: Policy, times: number): Promise<void> {
  for (let call = 0; call < times; call += 1) await policy.run(fine);
}

/** Waits of one length between attempts. */
export function pause(ms: number): BackoffSpec {
  return { delayMs: ms, factor: 1, maxDelayMs: ms, jitter: false };
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

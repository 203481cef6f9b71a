import { bulkhead as cockatielBulkhead, circuitBreaker as cockatielBreaker, CountBreaker, handleAll } from 'cockatiel';
import { BulkheadPolicy, CircuitBreakerPolicy, TimeoutPolicy } from 'holdfast';
import OpossumBreaker from 'opossum';
import { setTimeout as delay } from 'node:timers/promises';
import { withTimeoutSignal } from '../floors/timeout-signal.js';
import { answerAtOnce, type Call, type Sides } from '../sides.js';

const MANY = 10_000;
/** As many circuits with timers as a process has time for. */
const SOME = 500;
/** As many full windows of 100,000 as do not take long to fill. */
const FEW = 5;
/** Calls in the window of a breaker. */
const WINDOW = 20;
/** What is collected once may hold what is collected the next time: weak references, finalizers. */
const COLLECTIONS = 3;

async function aliveBytes(): Promise<number> {
  for (let collection = 0; collection < COLLECTIONS; collection++) {
    globalThis.gc?.();
    await delay(1);
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();

  return heapUsed + arrayBuffers;
}

/** What each of so many things keeps alive, in bytes, the place in the array that holds it included. */
function bytesOfEach(count: number, make: () => unknown): Call {
  return async () => {
    const kept: unknown[] = new Array(count);
    const before = await aliveBytes();
    for (let made = 0; made < count; made++) kept[made] = await make();
    const after = await aliveBytes();

    return (after - before) / kept.length;
  };
}

const valueSides = (ours: Call, other: Call): Sides => ({ ours, other, bare: answerAtOnce, gives: 'value' });
const hang = (): Promise<never> => new Promise(() => {});
/** A call is no promise to wait for here. */
const started = (call: Promise<unknown>): readonly [Promise<unknown>] => [call];

/** A call that waits in the queue of a bulkhead, its promise included. */
export function heldByWaiter(): Sides {
  const ours = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: Infinity });
  const theirs = cockatielBulkhead(1, Infinity);
  void ours.execute(hang);
  void theirs.execute(hang);

  return valueSides(
    bytesOfEach(MANY, () => started(ours.execute(answerAtOnce))),
    bytesOfEach(MANY, () => started(theirs.execute(answerAtOnce))),
  );
}

/** A call that hangs under a timeout and holds its signal, as one does that is to end by it. */
export function heldByPending(): Sides {
  const ours = new TimeoutPolicy('1h');
  const hangOn = (signal: AbortSignal): Promise<never> => new Promise(() => void signal.aborted);

  return valueSides(
    bytesOfEach(MANY, () => started(ours.execute(({ signal }) => hangOn(signal)))),
    bytesOfEach(MANY, () => started(withTimeoutSignal(hangOn, 3_600_000))),
  );
}

const ourBreaker = (size: number): CircuitBreakerPolicy =>
  new CircuitBreakerPolicy({ slidingWindow: { type: 'count', size } });

/** A breaker that has seen a call. */
export function heldByBreakerOverCockatiel(): Sides {
  return valueSides(
    bytesOfEach(MANY, () => used(ourBreaker(WINDOW))),
    bytesOfEach(MANY, () => used(theirBreaker(WINDOW))),
  );
}

export function heldByBreakerOverOpossum(): Sides {
  return valueSides(
    bytesOfEach(SOME, () => used(ourBreaker(WINDOW))),
    bytesOfEach(SOME, () => new OpossumBreaker(answerAtOnce, { timeout: false })),
  );
}

/** A full window of 100,000 calls. */
export function heldByWindow(): Sides {
  const size = 100_000;

  return valueSides(
    bytesOfEach(FEW, () => used(ourBreaker(size), size)),
    bytesOfEach(FEW, () => used(theirBreaker(size), size)),
  );
}

function theirBreaker(size: number): ReturnType<typeof cockatielBreaker> {
  return cockatielBreaker(handleAll, {
    halfOpenAfter: 30_000,
    breaker: new CountBreaker({ threshold: 0.5, size, minimumNumberOfCalls: 10 }),
  });
}

async function used<P extends { execute(work: () => Promise<number>): Promise<unknown> }>(
  policy: P,
  times = 1,
): Promise<P> {
  for (let call = 0; call < times; call++) await policy.execute(answerAtOnce);

  return policy;
}

import { circuitBreaker, ConsecutiveBreaker, handleAll } from 'cockatiel';
import { CircuitBreakerPolicy } from 'holdfast';
import OpossumBreaker from 'opossum';
import { answerAtOnce, type Call, type Sides } from '../sides.js';

const OPEN_MS = 3_600_000;

function ourOpenBreaker(): Call {
  const breaker = new CircuitBreakerPolicy({ openDuration: OPEN_MS });
  breaker.trip();

  return () => breaker.execute(answerAtOnce);
}

/** The refusal of an open breaker, against cockatiel's. */
export async function openBreakerOverCockatiel(): Promise<Sides> {
  const theirs = circuitBreaker(handleAll, { halfOpenAfter: OPEN_MS, breaker: new ConsecutiveBreaker(1) });
  await theirs.execute(() => Promise.reject(new Error('down'))).catch(() => undefined);

  return { ours: ourOpenBreaker(), other: () => theirs.execute(answerAtOnce), bare: answerAtOnce, refuses: true };
}

/** The refusal of an open breaker, against opossum's. */
export function openBreakerOverOpossum(): Sides {
  const theirs = new OpossumBreaker(answerAtOnce, { timeout: false, resetTimeout: OPEN_MS });
  theirs.open();

  return {
    ours: ourOpenBreaker(),
    other: () => theirs.fire(),
    bare: answerAtOnce,
    refuses: true,
  };
}

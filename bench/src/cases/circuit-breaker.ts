import { circuitBreaker as cockatielBreaker, CountBreaker, handleAll } from 'cockatiel';
import { CircuitBreakerPolicy } from 'holdfast';
import { answerAtOnce, type Sides } from '../sides.js';

/** A closed breaker over the last 20 calls, which all succeed. */
export function circuitBreaker(): Sides {
  const ours = new CircuitBreakerPolicy({ failureRateThreshold: 50, minimumCalls: 10, openDuration: '30s' });
  const theirs = cockatielBreaker(handleAll, {
    halfOpenAfter: 30_000,
    breaker: new CountBreaker({ threshold: 0.5, size: 20, minimumNumberOfCalls: 10 }),
  });

  return {
    ours: () => ours.execute(answerAtOnce),
    other: () => theirs.execute(answerAtOnce),
    bare: answerAtOnce,
  };
}

import OpossumBreaker from 'opossum';
import { answerAtOnce, type Call } from '../sides.js';
import { BREAKER, BULKHEAD, TIMEOUT_MS, type Library } from './library.js';

/** A circuit is timeout, breaker, bulkhead and fallback in one: each is one with the others off. */
const NOTHING: OpossumBreaker.Options = {
  timeout: false,
  volumeThreshold: Number.MAX_SAFE_INTEGER,
  // Documented for those who read no percentiles: nothing is sorted then.
  rollingPercentilesEnabled: false,
};

function under(circuit: OpossumBreaker): Call {
  return () => circuit.fire();
}

function withFallback(): OpossumBreaker {
  const circuit = new OpossumBreaker(answerAtOnce, { ...NOTHING });
  circuit.fallback(() => 0);

  return circuit;
}

export const opossum: Library = {
  timeout: () => under(new OpossumBreaker(answerAtOnce, { ...NOTHING, timeout: TIMEOUT_MS })),
  'circuit-breaker': () =>
    under(
      new OpossumBreaker(answerAtOnce, {
        ...NOTHING,
        errorThresholdPercentage: BREAKER.failureRate,
        volumeThreshold: BREAKER.minimumCalls,
        resetTimeout: BREAKER.openMs,
      }),
    ),
  bulkhead: () => under(new OpossumBreaker(answerAtOnce, { ...NOTHING, capacity: BULKHEAD.limit })),
  fallback: () => under(withFallback()),
};

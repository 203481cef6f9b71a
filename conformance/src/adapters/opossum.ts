import { EventEmitter } from 'node:events';
import CircuitBreaker from 'opossum';
import { NotOffered, type Adapter, type BreakerSpec, type Policy, type Work } from '../adapter.js';
import { installedVersion } from './installed.js';
import { nested } from './nested.js';

type Fired = [work: Work<unknown>, signal: AbortSignal | undefined];
type Circuit = CircuitBreaker<Fired>;
/** With what its documentation has and its types have not. */
type Options = Omit<CircuitBreaker.Options, 'errorFilter'> & {
  readonly autoRenewAbortController?: boolean;
  readonly errorFilter?: (error: unknown, ...fired: Fired) => boolean;
};

/** A circuit is the timeout, the bulkhead, the breaker and the fallback in one: each policy is one with one of them on. */
const NOTHING: Options = {
  // Ten seconds by default.
  timeout: false,
  // Opens for no number of failures.
  volumeThreshold: Number.MAX_SAFE_INTEGER,
  // Documented for those who read no snapshots: one timer less for each circuit.
  enableSnapshots: false,
  // Documented for those who read no percentiles: nothing is sorted then.
  rollingPercentilesEnabled: false,
};

/** What a policy without a window has no use for: a timer that moves the window on. */
function unwound(options: Options): Options {
  return { ...NOTHING, rotateBucketController: new EventEmitter(), ...options };
}

/** It hands on what it is fired with, the caller's signal too, and looks at no signal itself. */
class Opossum implements Policy {
  readonly circuit: Circuit;

  constructor(options: Options, attemptSignal: (circuit: Circuit) => AbortSignal | undefined = () => undefined) {
    this.circuit = new CircuitBreaker<Fired>(
      // What the work throws at once is the circuit's to catch.
      (work) => Promise.resolve(work({ signal: attemptSignal(this.circuit) })),
      // It writes into them.
      { ...options } as CircuitBreaker.Options,
    );
  }

  run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    return this.circuit.fire(work, signal) as Promise<T>;
  }
}

/** The signal of its work is that of the circuit: it takes none of a caller. */
class CircuitTimeout extends Opossum {
  override run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    if (signal !== undefined) throw new NotOffered('it takes no signal of a caller');

    return super.run(work);
  }
}

function isRefusal(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return code === 'EOPENBREAKER' || code === 'ESEMLOCKED';
}

/** Its filter is given what was fired, and so can tell a caller's abort. */
function isAbort(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error === signal.reason;
}

function breakerOptions({ failureRate, minimumCalls, window, openMs, probes, recordIf, slow }: BreakerSpec): Options {
  if (slow !== undefined) throw new NotOffered('it knows no slow calls');
  if ('calls' in window) throw new NotOffered('its window is one of time');
  if (probes !== 1) throw new NotOffered('it has one probe');

  return {
    ...NOTHING,
    // The rate must lie above it.
    errorThresholdPercentage: failureRate - 1e-6,
    volumeThreshold: minimumCalls,
    rollingCountTimeout: window.ms,
    resetTimeout: openMs,
    errorFilter: (error: unknown, _work: unknown, signal: AbortSignal | undefined) =>
      isRefusal(error) || isAbort(error, signal) || recordIf?.(error) === false,
  };
}

export const opossum: Adapter = {
  name: 'opossum',
  version: installedVersion('opossum'),
  settings: {
    timeout: 'timeout, abortController, autoRenewAbortController',
    breaker:
      'volumeThreshold, errorThresholdPercentage, rollingCountTimeout, rollingPercentilesEnabled: false, errorFilter for refusals and aborts',
    bulkhead: 'capacity',
    fallback: 'fallback, errorFilter',
    wrap: 'circuits in circuits',
  },
  states: true,
  timeout: (ms) =>
    new CircuitTimeout(
      // Renewed when the circuit changes its state; it makes no other one for a call.
      unwound({ timeout: ms, abortController: new AbortController(), autoRenewAbortController: true }),
      (circuit) => (circuit as unknown as { getSignal(): AbortSignal | undefined }).getSignal(),
    ),
  breaker: (spec) => {
    const policy = new Opossum(breakerOptions(spec));
    const { circuit } = policy;
    return Object.assign(policy, {
      state: () => (circuit.opened ? 'open' : circuit.halfOpen ? 'half-open' : 'closed') as 'open',
      onState: (listener: (state: 'closed' | 'open' | 'half-open') => void) => {
        circuit.on('open', () => listener('open'));
        circuit.on('halfOpen', () => listener('half-open'));
        circuit.on('close', () => listener('closed'));
      },
    });
  },
  bulkhead: ({ limit, queue = 0 }) => {
    if (queue > 0) throw new NotOffered('it has no queue');

    const policy = new Opossum(unwound({ capacity: limit }));
    const { semaphore } = policy.circuit as unknown as { readonly semaphore: { readonly count: number } };
    return Object.assign(policy, { running: () => limit - semaphore.count, waiting: () => 0 });
  },
  fallback: ({ answer, handleIf }) => {
    // An error that the filter lets pass is not answered for.
    const errorFilter = (error: unknown, _work: unknown, signal: AbortSignal | undefined): boolean =>
      isAbort(error, signal) || handleIf?.(error) === false;
    const policy = new Opossum(unwound({ errorFilter }));
    policy.circuit.fallback(() => answer());
    return policy;
  },
  wrap: (...policies) => nested(policies),
  refusal: (error) => (isRefusal(error) ? {} : undefined),
  isTimeout: (error) => (error as { readonly code?: unknown } | undefined)?.code === 'ETIMEDOUT',
};

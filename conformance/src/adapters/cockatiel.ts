import {
  bulkhead,
  BrokenCircuitError,
  BulkheadRejectedError,
  circuitBreaker,
  CircuitState,
  CountBreaker,
  ExponentialBackoff,
  fallback,
  fullJitterGenerator,
  handleWhen,
  noJitterGenerator,
  retry,
  SamplingBreaker,
  TaskCancelledError,
  timeout,
  TimeoutStrategy,
  wrap,
  type IPolicy,
} from 'cockatiel';
import {
  NotOffered,
  PLENTY,
  type Adapter,
  type BreakerSpec,
  type Policy,
  type RetrySpec,
  type Work,
} from '../adapter.js';
import { installedVersion } from './installed.js';

class Cockatiel<P extends IPolicy> implements Policy {
  constructor(readonly policy: P) {}

  run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    return this.policy.execute((context) => work({ signal: context.signal }), signal);
  }
}

/** Its rates must lie strictly above: a rate of 50 is one just below the half, and 100 one just below the whole. */
function above(percent: number): number {
  return percent / 100 - 1e-9;
}

function retryPolicy(spec: RetrySpec): Policy {
  const { attempts, backoff, retryIf = () => true, retryResultIf, honourRetryAfter = false } = spec;
  if (honourRetryAfter) throw new NotOffered('it reads no Retry-After');

  const handled = handleWhen(retryIf);
  return new Cockatiel(
    retry(retryResultIf === undefined ? handled : handled.orWhenResult(retryResultIf), {
      // Counts retries, whatever its name says.
      maxAttempts: attempts - 1,
      backoff: new ExponentialBackoff({
        // The decorrelated default is never exact.
        generator: backoff.jitter ? fullJitterGenerator : noJitterGenerator,
        initialDelay: backoff.delayMs,
        exponent: backoff.factor,
        maxDelay: backoff.maxDelayMs,
      }),
    }),
  );
}

/** Handlers see an error alone: of callers that give up they know the usual reason. */
function isUsualAbort(error: unknown): boolean {
  return (error as Error | undefined)?.name === 'AbortError';
}

function sampling({ window, failureRate, minimumCalls }: BreakerSpec): CountBreaker | SamplingBreaker {
  const threshold = above(failureRate);
  if ('calls' in window) {
    return new CountBreaker({ threshold, size: window.calls, minimumNumberOfCalls: minimumCalls });
  }

  // A minimum is told as a rate; a touch below, so that rounding does not ask for one call more.
  return new SamplingBreaker({
    threshold,
    duration: window.ms,
    minimumRps: (minimumCalls - 1e-6) / (window.ms / 1_000),
  });
}

const STATES = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half-open',
  [CircuitState.Isolated]: 'open',
} as const;

export const cockatiel: Adapter = {
  name: 'cockatiel',
  version: installedVersion('cockatiel'),
  settings: {
    retry: 'ExponentialBackoff with noJitterGenerator or fullJitterGenerator, handleWhen, orWhenResult',
    timeout: 'TimeoutStrategy.Aggressive (the cooperative one waits for the work), abortOnReturn: false',
    breaker:
      'SamplingBreaker with minimumRps, or CountBreaker; halfOpenSampling; handleWhen without its own refusals and AbortErrors',
    bulkhead: 'bulkhead(limit, queue)',
    fallback: 'handleWhen without AbortErrors',
    wrap: 'wrap',
  },
  signals: true,
  states: true,
  retry: retryPolicy,
  // Aggressive rejects at the limit; cooperative waits for the work. A body stays readable only with abortOnReturn off.
  timeout: (ms) => new Cockatiel(timeout(ms, { strategy: TimeoutStrategy.Aggressive, abortOnReturn: false })),
  breaker: (spec) => {
    if (spec.slow !== undefined) throw new NotOffered('it knows no slow calls');

    const { recordIf = () => true } = spec;
    const policy = circuitBreaker(
      // Its own refusals and cancellations, and aborts, are errors like others, unless the handler leaves them out.
      handleWhen(
        (error) =>
          !(error instanceof BulkheadRejectedError) &&
          !(error instanceof TaskCancelledError) &&
          !isUsualAbort(error) &&
          recordIf(error),
      ),
      {
        breaker: sampling(spec),
        halfOpenAfter: spec.openMs,
        halfOpenSampling: { calls: spec.probes, threshold: spec.probes === 1 ? 0 : above(spec.failureRate) },
      },
    );
    return Object.assign(new Cockatiel(policy), {
      state: () => STATES[policy.state],
      onState: (listener: (state: (typeof STATES)[CircuitState]) => void) =>
        void policy.onStateChange((state) => listener(STATES[state])),
    });
  },
  bulkhead: ({ limit, queue = PLENTY }) => {
    const policy = bulkhead(limit, queue);
    return Object.assign(new Cockatiel(policy), {
      running: () => limit - policy.executionSlots,
      waiting: () => queue - policy.queueSlots,
    });
  },
  fallback: ({ answer, handleIf = () => true }) =>
    new Cockatiel(
      fallback(
        handleWhen((error) => !isUsualAbort(error) && handleIf(error)),
        answer,
      ) as unknown as IPolicy,
    ),
  wrap: (...policies) => new Cockatiel(wrap(...policies.map((policy) => (policy as Cockatiel<IPolicy>).policy))),
  // It tells no time to wait.
  refusal: (error) => (error instanceof BrokenCircuitError || error instanceof BulkheadRejectedError ? {} : undefined),
  isTimeout: (error) => error instanceof TaskCancelledError,
  // One class for both: a call that its caller gave up, and one that ran out of time.
  isCancelled: (error) => error instanceof TaskCancelledError,
};

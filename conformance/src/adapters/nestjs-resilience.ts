import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import {
  Backoff,
  BulkheadRejectedException,
  BulkheadStrategy,
  CircuitBreakerStatus,
  CircuitBreakerStrategy,
  CircuitOpenedException,
  FallbackStrategy,
  ResilienceObservableCommand,
  ResilienceStatesManager,
  RetryStrategy,
  ThrottleStrategy,
  ThrottlerException,
  TimeoutException,
  TimeoutStrategy,
  type Strategy,
} from 'nestjs-resilience';
import { lastValueFrom, merge, Observable, take } from 'rxjs';
import {
  NotOffered,
  PLENTY,
  type Adapter,
  type BackoffSpec,
  type BreakerSpec,
  type Policy,
  type RetrySpec,
  type Work,
} from '../adapter.js';
import { installedVersion } from './installed.js';

// Its commands log each outcome at the level of debugging, which Nest prints by default.
Logger.overrideLogger(false);

let made = 0;

/** All that is to be known of a caller that has gone: neither work nor whoever waits is told more. */
const UNSUBSCRIBED = new Error('unsubscribed');

/** A command that is unsubscribed from tells its work so: the work is an Observable with a teardown. */
class Command extends ResilienceObservableCommand {
  override run(work: Work<unknown>): Observable<unknown> {
    return new Observable((subscriber) => {
      const controller = new AbortController();
      let isDone = false;
      // What the work throws at once is for those around it to catch.
      Promise.resolve(work({ signal: controller.signal })).then(
        (value) => {
          isDone = true;
          subscriber.next(value);
          subscriber.complete();
        },
        (error: unknown) => {
          isDone = true;
          subscriber.error(error);
        },
      );
      return () => {
        if (!isDone) controller.abort(UNSUBSCRIBED);
      };
    });
  }
}

/** It takes no signal: a caller that gives up unsubscribes, as one does with Observables. */
class NestPolicy implements Policy {
  private readonly command: Command;

  /**
   * @param strategies Outermost first.
   * @param id Breakers and throttles keep their state under the name of their command: each policy has its own.
   */
  constructor(
    readonly strategies: readonly Strategy[],
    readonly id = `command ${(made += 1)}`,
  ) {
    this.command = new Command(strategies.toReversed(), 'conformance', id);
  }

  async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    const results = this.command.execute(work) as Observable<T>;
    return lastValueFrom(signal === undefined ? results : merge(results, aborted(signal)).pipe(take(1)));
  }
}

function aborted(signal: AbortSignal): Observable<never> {
  return new Observable((subscriber) => {
    const abort = (): void => subscriber.error(UNSUBSCRIBED);
    signal.addEventListener('abort', abort);
    return () => signal.removeEventListener('abort', abort);
  });
}

/** Its own exponential one has a factor of two, and its fixed one makes one retry less than it is asked for. */
class SpecBackoff extends Backoff {
  constructor(private readonly spec: BackoffSpec) {
    super();
  }

  override *getGenerator(retries: number): Generator<number> {
    const { delayMs, factor, jitter } = this.spec;
    for (let retry = 0; retry < retries; retry += 1) yield delayMs * factor ** retry * (jitter ? Math.random() : 1);
  }
}

function retry({ attempts, backoff, retryIf, retryResultIf, honourRetryAfter = false }: RetrySpec): Policy {
  if (retryResultIf !== undefined) throw new NotOffered('it retries no results');
  if (honourRetryAfter) throw new NotOffered('it reads no Retry-After');

  return new NestPolicy([
    new RetryStrategy({
      maxRetries: attempts - 1,
      backoff: new SpecBackoff(backoff),
      maxDelay: backoff.maxDelayMs,
      ...(retryIf === undefined ? {} : { retryable: retryIf }),
    }),
  ]);
}

interface Kept {
  readonly value: { readonly status: CircuitBreakerStatus };
}

/** The state as it is kept; there is no other way to read it, and none to be told of a change. */
function stateOf(id: string): 'closed' | 'open' | 'half-open' {
  const { store } = ResilienceStatesManager.getInstance() as unknown as {
    readonly store: { dump(): readonly (readonly [string, Kept])[] };
  };
  const kept = store.dump().find(([key]) => key.endsWith(`CircuitBreakerStrategy/conformance#${id}`))?.[1];
  if (kept === undefined || kept.value.status === CircuitBreakerStatus.Closed) return 'closed';

  return kept.value.status === CircuitBreakerStatus.Open ? 'open' : 'half-open';
}

function circuit({ failureRate, minimumCalls, window, openMs, probes, recordIf, slow }: BreakerSpec): Strategy {
  if (slow !== undefined) throw new NotOffered('it knows no slow calls');
  if ('calls' in window) throw new NotOffered('its window is one of time');
  if (recordIf !== undefined) throw new NotOffered('it has no filter for errors');
  if (probes !== 1) throw new NotOffered('it has no number of probes');

  return new CircuitBreakerStrategy({
    requestVolumeThreshold: minimumCalls,
    errorThresholdPercentage: failureRate,
    rollingWindowInMilliseconds: window.ms,
    sleepWindowInMilliseconds: openMs,
  });
}

const REFUSALS = [CircuitOpenedException, BulkheadRejectedException, ThrottlerException];

export const nestjsResilience: Adapter = {
  name: 'nestjs-resilience',
  version: installedVersion('nestjs-resilience'),
  settings: {
    retry: 'maxRetries, maxDelay, retryable, a Backoff of our own; unsubscribed from at an abort',
    timeout: 'TimeoutStrategy; unsubscribed from at an abort',
    breaker: 'requestVolumeThreshold, errorThresholdPercentage, rollingWindowInMilliseconds, a command name for each',
    bulkhead: 'maxConcurrent, maxQueue; unsubscribed from at an abort',
    rateLimit: 'ThrottleStrategy: limit, ttl, a command name for each',
    fallback: 'FallbackStrategy',
    wrap: 'strategies of one command',
  },
  retry,
  timeout: (ms) => new NestPolicy([new TimeoutStrategy(ms)]),
  breaker: (spec) => {
    const policy = new NestPolicy([circuit(spec)]);
    return Object.assign(policy, {
      state: () => stateOf(policy.id),
      onState: () => {
        throw new NotOffered('it tells nobody of a change of state');
      },
    });
  },
  bulkhead: ({ limit, queue = PLENTY }) => {
    const strategy = new BulkheadStrategy({ maxConcurrent: limit, maxQueue: queue });
    return Object.assign(new NestPolicy([strategy]), {
      running: () => limit - strategy.executionSlots,
      waiting: () => queue - strategy.queueSlots,
    });
  },
  rateLimit: ({ limit, intervalMs, maxWaitMs = 0 }) => {
    if (maxWaitMs > 0) throw new NotOffered('it lets nobody wait');

    return new NestPolicy([new ThrottleStrategy({ ttl: intervalMs, limit })]);
  },
  fallback: ({ answer, handleIf }) => {
    if (handleIf !== undefined) throw new NotOffered('it has no filter for errors');

    return new NestPolicy([new FallbackStrategy(() => answer())]);
  },
  wrap: (...policies) => {
    const parts = policies as readonly NestPolicy[];
    const stateful = parts.find(({ strategies }) => strategies.some((part) => part instanceof CircuitBreakerStrategy));
    return new NestPolicy(
      parts.flatMap(({ strategies }) => strategies),
      stateful?.id,
    );
  },
  refusal: (error) => (REFUSALS.some((refusal) => error instanceof refusal) ? {} : undefined),
  isTimeout: (error) => error instanceof TimeoutException,
  isCancelled: (error) => error === UNSUBSCRIBED,
};

import { Cause, Duration, Effect, Exit, Option, Schedule, Scope, Semaphore, Stream } from 'effect';
import { CircuitBreaker, RateLimiter } from 'effect/persistence';
import {
  NotOffered,
  PLENTY,
  type Adapter,
  type BreakerPolicy,
  type BreakerSpec,
  type BulkheadPolicy,
  type BulkheadSpec,
  type FallbackSpec,
  type Policy,
  type RateLimitSpec,
  type RetrySpec,
  type Work,
} from '../adapter.js';
import { installedVersion } from './installed.js';

type Around = <A>(effect: Effect.Effect<A, unknown>) => Effect.Effect<A, unknown>;

/** From promises and back: the signal of the work is the interruption of its fiber. */
class EffectPolicy implements Policy {
  constructor(readonly around: Around) {}

  run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    return Effect.runPromise(
      this.around(promised<T>((own) => work({ signal: own }))),
      signal === undefined ? undefined : { signal },
    );
  }
}

function promised<T>(work: (signal: AbortSignal) => Promise<T> | T): Effect.Effect<T, unknown> {
  return Effect.tryPromise({ try: (signal) => Promise.resolve(work(signal)), catch: (error) => error });
}

/** Semaphores refuse by giving nothing. */
class NoPermit extends Error {}

/** A result that is to be retried is a failure on its way through the retries. */
class BadResult {
  constructor(readonly value: unknown) {}
}

function retry({ attempts, backoff, retryIf, retryResultIf, honourRetryAfter = false }: RetrySpec): Policy {
  if (honourRetryAfter) throw new NotOffered('its schedules read no Retry-After');

  // The shorter of the two: so its documentation caps a schedule. Jitter goes beyond a cap inside of it, and needs one
  // all the same, for a wait that has grown beyond every number.
  const longest = Schedule.spaced(Duration.millis(backoff.maxDelayMs));
  const capped = Schedule.min([Schedule.exponential(Duration.millis(backoff.delayMs), backoff.factor), longest]);
  const options = {
    schedule: backoff.jitter ? Schedule.min([Schedule.jittered(capped), longest]) : capped,
    times: attempts - 1,
    while: (error: unknown) => error instanceof BadResult || (retryIf?.(error) ?? true),
  };
  if (retryResultIf === undefined) return new EffectPolicy((effect) => Effect.retry(effect, options));

  return new EffectPolicy(<A>(effect: Effect.Effect<A, unknown>) =>
    effect.pipe(
      Effect.flatMap((value) => (retryResultIf(value) ? Effect.fail(new BadResult(value)) : Effect.succeed(value))),
      (checked) => Effect.retry(checked, options),
      Effect.catchIf(
        (error) => error instanceof BadResult,
        (error) => Effect.succeed((error as BadResult).value as A),
      ),
    ),
  );
}

const KEY = 'dependency';
const STATES = { Closed: 'closed', Open: 'open', HalfOpen: 'half-open' } as const;
/** Its rates are of the last calls. With so many of them it stands for a window of time that no scenario fills. */
const CALLS_IN_A_MINUTE = 10_000;

function windowOf({ window }: BreakerSpec): number {
  if ('calls' in window) return window.calls;
  // A minute is longer than the scenarios that do not speak of time.
  if (window.ms < 60_000) throw new NotOffered('its window is one of calls');

  return CALLS_IN_A_MINUTE;
}

function breaker(spec: BreakerSpec): BreakerPolicy {
  const { failureRate, minimumCalls, openMs, probes, recordIf, slow } = spec;
  if (slow !== undefined) throw new NotOffered('it knows no slow calls');
  if (probes !== 1) throw new NotOffered('it has one probe');

  const tripPolicy = CircuitBreaker.rate({ threshold: failureRate / 100, size: windowOf(spec), minimumCalls });
  const made = Effect.runSync(
    CircuitBreaker.make({ tripPolicy, openDuration: Duration.millis(openMs) }).pipe(
      Effect.provideService(Scope.Scope, Effect.runSync(Scope.make())),
      Effect.provide(CircuitBreaker.layerStoreMemory()),
    ),
  );
  const classify = (exit: Exit.Exit<unknown, unknown>): CircuitBreaker.Outcome => {
    if (Exit.isSuccess(exit)) return CircuitBreaker.success;
    const error = Cause.squash(exit.cause);
    return error instanceof NoPermit || recordIf?.(error) === false ? CircuitBreaker.ignored : CircuitBreaker.failure();
  };
  return Object.assign(new EffectPolicy((effect) => made.execute(effect, { key: KEY, classify })), {
    // As it is documented: past its time it reads open until the next call.
    state: () => STATES[Effect.runSync(made.state(KEY))._tag],
    onState: (listener: (state: 'closed' | 'open' | 'half-open') => void) =>
      void Effect.runFork(Stream.runForEach(made.transitions, ({ to }) => Effect.sync(() => listener(STATES[to])))),
  });
}

/** It tells neither who runs nor who waits: both are counted here. */
class EffectBulkhead extends EffectPolicy implements BulkheadPolicy {
  private inside = 0;
  private active = 0;

  constructor({ limit, queue = PLENTY }: BulkheadSpec) {
    const semaphore = Semaphore.makeUnsafe(limit);
    super((effect) =>
      Effect.suspend(() => {
        if (queue > 0 && this.inside >= limit + queue) {
          return Effect.fail(new NotOffered('the queue of its semaphore has no bound'));
        }

        // Interruption waits for no promise: a slot would be free while its work runs on. With this its caller waits instead.
        const counted = this.counting('active', Effect.uninterruptible(effect));
        // Without a queue the call is not to wait.
        const limited = queue > 0 ? semaphore.withPermit(counted) : atOnce(semaphore, counted);
        return this.counting('inside', limited);
      }),
    );
  }

  running(): number {
    return this.active;
  }

  waiting(): number {
    return this.inside - this.active;
  }

  private counting<A>(count: 'inside' | 'active', effect: Effect.Effect<A, unknown>): Effect.Effect<A, unknown> {
    return Effect.acquireUseRelease(
      Effect.sync(() => void (this[count] += 1)),
      () => effect,
      () => Effect.sync(() => void (this[count] -= 1)),
    );
  }
}

function atOnce<A>(semaphore: Semaphore.Semaphore, effect: Effect.Effect<A, unknown>): Effect.Effect<A, unknown> {
  return semaphore
    .withPermitsIfAvailable(1)(effect)
    .pipe(
      Effect.flatMap((value) => (Option.isSome(value) ? Effect.succeed(value.value) : Effect.fail(new NoPermit()))),
    );
}

function rateLimit({ limit, intervalMs, maxWaitMs = Infinity }: RateLimitSpec): Policy {
  const limiter = Effect.runSync(RateLimiter.make.pipe(Effect.provide(RateLimiter.layerStoreMemory)));
  const turn = limiter.consume({
    key: KEY,
    limit,
    window: Duration.millis(intervalMs),
    // Its default has fixed windows, with a burst of twice the limit across an edge.
    algorithm: 'token-bucket',
    onExceeded: maxWaitMs === 0 ? 'fail' : 'delay',
  });
  return new EffectPolicy((effect) =>
    Effect.flatMap(turn, ({ delay }) => {
      if (Duration.toMillis(delay) > maxWaitMs) return Effect.fail(new NotOffered('its waits have no bound'));
      return Duration.isZero(delay) ? effect : Effect.delay(effect, delay);
    }),
  );
}

function fallback({ answer, handleIf = () => true }: FallbackSpec): Policy {
  return new EffectPolicy(<A>(effect: Effect.Effect<A, unknown>) =>
    Effect.catchIf(effect, handleIf, () => promised(() => answer() as A)),
  );
}

/** As `Cause.squash` documents it. */
const INTERRUPTED = 'All fibers interrupted without error';

/** `runPromise` rejects so when its fiber was interrupted, and the work's signal says no more than that it aborted. */
function isInterruption(error: unknown): boolean {
  return error instanceof Error && (error.message === INTERRUPTED || error.name === 'AbortError');
}

function refusal(error: unknown): { readonly retryAfterMs?: number | undefined } | undefined {
  if (error instanceof NoPermit) return {};
  if (!(error instanceof CircuitBreaker.CircuitBreakerError || error instanceof RateLimiter.RateLimiterError)) {
    return undefined;
  }

  return { retryAfterMs: 'retryAfter' in error.reason ? Duration.toMillis(error.reason.retryAfter) : undefined };
}

export const effect: Adapter = {
  name: 'effect',
  version: installedVersion('effect'),
  settings: {
    retry: 'Effect.retry with Schedule.min of exponential and spaced, before and after Schedule.jittered, times, while',
    timeout: 'Effect.timeout; runPromise with the caller’s signal',
    breaker: 'CircuitBreaker.rate of the last calls, classify: what is not recorded is ignored',
    bulkhead:
      'Semaphore: withPermit, and withPermitsIfAvailable where there is no queue; Effect.uninterruptible around the work',
    rateLimit: 'RateLimiter with token-bucket, onExceeded fail or delay',
    fallback: 'Effect.catchIf',
    wrap: 'composition of effects',
  },
  signals: true,
  states: true,
  retry,
  timeout: (ms) => new EffectPolicy((work) => Effect.timeout(work, Duration.millis(ms))),
  breaker,
  bulkhead: (spec) => new EffectBulkhead(spec),
  rateLimit,
  fallback,
  wrap: (...policies) =>
    new EffectPolicy((work) => policies.reduceRight((inner, policy) => (policy as EffectPolicy).around(inner), work)),
  refusal,
  isTimeout: (error) => Cause.isTimeoutError(error),
  isCancelled: isInterruption,
};

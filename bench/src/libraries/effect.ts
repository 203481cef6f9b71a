import { Duration, Effect, Schedule, Scope, Semaphore } from 'effect';
import { CircuitBreaker, RateLimiter } from 'effect/persistence';
import { answerAtOnce, type Call } from '../sides.js';
import { ATTEMPTS, BREAKER, BULKHEAD, RATE_LIMIT, TIMEOUT_MS, type Library } from './library.js';

type Program = Effect.Effect<number, unknown>;

const KEY = 'dependency';
const work: Program = Effect.tryPromise({ try: answerAtOnce, catch: (error) => error });

/** From effects back to promises, as where it meets code that knows nothing of it. */
function runs(program: Program): Call {
  return () => Effect.runPromise(program);
}

const retrying = (inner: Program): Program =>
  Effect.retry(inner, { schedule: Schedule.exponential(Duration.millis(100)), times: ATTEMPTS - 1 });

const limited = (inner: Program): Program => Effect.timeout(inner, Duration.millis(TIMEOUT_MS));

function breaking(inner: Program): Program {
  const tripPolicy = CircuitBreaker.rate({
    threshold: BREAKER.failureRate / 100,
    size: BREAKER.calls,
    minimumCalls: BREAKER.minimumCalls,
  });
  const breaker = Effect.runSync(
    CircuitBreaker.make({ tripPolicy, openDuration: Duration.millis(BREAKER.openMs) }).pipe(
      Effect.provideService(Scope.Scope, Effect.runSync(Scope.make())),
      Effect.provide(CircuitBreaker.layerStoreMemory()),
    ),
  );

  return breaker.execute(inner, { key: KEY });
}

const capped = (inner: Program): Program => Semaphore.makeUnsafe(BULKHEAD.limit).withPermit(inner);

function limitedInRate(inner: Program): Program {
  const limiter = Effect.runSync(RateLimiter.make.pipe(Effect.provide(RateLimiter.layerStoreMemory)));
  const turn = limiter.consume({
    key: KEY,
    limit: RATE_LIMIT.limit,
    window: Duration.millis(RATE_LIMIT.intervalMs),
    algorithm: 'token-bucket',
    onExceeded: 'delay',
  });

  return Effect.flatMap(turn, ({ delay }) => Effect.delay(inner, delay));
}

const replaced = (inner: Program): Program =>
  Effect.catchIf(
    inner,
    () => true,
    () => Effect.succeed(0),
  );

export const effect: Library = {
  retry: () => runs(retrying(work)),
  timeout: () => runs(limited(work)),
  'circuit-breaker': () => runs(breaking(work)),
  bulkhead: () => runs(capped(work)),
  'rate-limit': () => runs(limitedInRate(work)),
  fallback: () => runs(replaced(work)),
  'five-stages': () => runs(replaced(retrying(breaking(limited(capped(work)))))),
};

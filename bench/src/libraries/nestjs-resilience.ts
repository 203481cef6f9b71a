import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import {
  BulkheadStrategy,
  CircuitBreakerStrategy,
  FallbackStrategy,
  ResilienceCommand,
  RetryStrategy,
  TimeoutStrategy,
  type Strategy,
} from 'nestjs-resilience';
import { answerAtOnce, type Call } from '../sides.js';
import { ATTEMPTS, BREAKER, BULKHEAD, TIMEOUT_MS, type Library } from './library.js';

// Its commands log each outcome at the level of debugging, which Nest prints by default.
Logger.overrideLogger(false);

class Command extends ResilienceCommand {
  override run(): Promise<number> {
    return answerAtOnce();
  }
}

/** @param strategies Outermost first. */
function under(...strategies: readonly Strategy[]): Call {
  const command = new Command(strategies.toReversed(), 'bench', 'command');

  return () => command.execute();
}

const retrying = (): Strategy => new RetryStrategy({ maxRetries: ATTEMPTS - 1 });
const limited = (): Strategy => new TimeoutStrategy(TIMEOUT_MS);
/** Its window is one of time. */
const breaking = (): Strategy =>
  new CircuitBreakerStrategy({
    requestVolumeThreshold: BREAKER.minimumCalls,
    errorThresholdPercentage: BREAKER.failureRate,
    sleepWindowInMilliseconds: BREAKER.openMs,
    rollingWindowInMilliseconds: 10_000,
  });
const capped = (): Strategy => new BulkheadStrategy({ maxConcurrent: BULKHEAD.limit, maxQueue: BULKHEAD.queue });
const replaced = (): Strategy => new FallbackStrategy(() => 0);

/** Its throttle copies a list of all calls of its interval for each: below a limit that no bench reaches nothing ends that. */
export const nestjsResilience: Library = {
  retry: () => under(retrying()),
  timeout: () => under(limited()),
  'circuit-breaker': () => under(breaking()),
  bulkhead: () => under(capped()),
  fallback: () => under(replaced()),
  'five-stages': () => under(replaced(), retrying(), breaking(), limited(), capped()),
};

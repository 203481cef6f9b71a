import { setTimeout as wait } from 'node:timers/promises';
import {
  CircuitBreakerPolicy,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  RetryPolicy,
  TimeoutPolicy,
  type ResilienceEvent,
} from '../src/index.js';

// Run as a process of its own, with a `Date` that was movable before the engine was loaded. Prints what it saw.

declare global {
  /** Moves the wall clock, as an administrator, NTP or a suspended laptop does. */
  function stepWallClock(milliseconds: number): void;
}

const fail = (): Promise<never> => Promise.reject(new Error('down'));

async function limit(step: number): Promise<unknown> {
  const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
  const policy = ResiliencePolicy.wrap(breaker, new TimeoutPolicy(120));
  const started = performance.now();
  const call = policy.execute(() => new Promise(() => {}));
  await wait(30);
  stepWallClock(step);
  const code: unknown = await call.catch((error: unknown) => (error as { code: unknown }).code);
  const inTime = performance.now() - started >= 119;

  return { code, inTime, counted: breaker.stats.failures };
}

/** On a busy machine the event loop is really held now and then, which is not what this is about. */
async function limitOnTime(step: number): Promise<unknown> {
  let seen: unknown;
  for (let round = 0; round < 5; round++) {
    seen = await limit(step);
    if ((seen as { counted: number }).counted === 1) break;
  }

  return seen;
}

async function openDuration(step: number): Promise<unknown> {
  const breaker = new CircuitBreakerPolicy({ openDuration: 200 });
  breaker.trip();
  stepWallClock(step);
  const before = breaker.state;
  await wait(210);

  return [before, breaker.state];
}

async function timeWindow(step: number): Promise<unknown> {
  const breaker = new CircuitBreakerPolicy({ minimumCalls: 5, slidingWindow: { type: 'time', size: '60s' } });
  for (let call = 0; call < 4; call++) await breaker.execute(fail).catch(() => {});
  stepWallClock(step);
  const { failures } = breaker.stats;
  await breaker.execute(fail).catch(() => {});

  return [failures, breaker.state];
}

async function tokens(step: number): Promise<unknown> {
  const slow = new OutboundRateLimitPolicy({ limit: 1, interval: '1h' });
  const quick = new OutboundRateLimitPolicy({ limit: 1, interval: 100 });
  await slow.execute(() => 1);
  await quick.execute(() => 1);
  stepWallClock(step);
  const { available } = slow;
  await wait(150);

  return [available, quick.available];
}

/** A date speaks of the wall clock, wherever that stands. */
async function retryAfterDate(step: number): Promise<unknown> {
  stepWallClock(step);
  const controller = new AbortController();
  const policy = new RetryPolicy({ attempts: 2, backoff: { delay: 1, factor: 1 } });
  const events: ResilienceEvent[] = [];
  policy.subscribe((event) => (events.push(event), controller.abort()));
  const headers = { 'retry-after': new Date(Date.now() + 10_000).toUTCString() };
  const refuse = (): Promise<never> => Promise.reject(Object.assign(new Error('busy'), { headers }));
  await policy.execute(refuse, { signal: controller.signal }).catch(() => {});
  const { delayMs } = events[0] as { delayMs: number };

  return delayMs > 8_000 && delayMs <= 10_000;
}

const scenarios = { limit: limitOnTime, openDuration, timeWindow, tokens, retryAfterDate };
const seen: Record<string, unknown> = {};
for (const [name, scenario] of Object.entries(scenarios)) {
  seen[name] = [await scenario(3_600_000), await scenario(-3_600_000)];
}
process.stdout.write(JSON.stringify(seen));

import { get } from 'node:http';
import { Controller, Get } from '@nestjs/common';
import type {
  ResilienceAbandonedEvent,
  ResilienceBulkheadRejectedEvent,
  ResilienceCircuitClosedEvent,
  ResilienceCircuitHalfOpenEvent,
  ResilienceCircuitOpenEvent,
  ResilienceCircuitRejectedEvent,
  ResilienceClientGoneEvent,
  ResilienceDeadlineEvent,
  ResilienceDegradedEvent,
  ResilienceEvent,
  ResilienceFallbackEvent,
  ResilienceRateLimitedEvent,
  ResilienceRetryEvent,
  ResilienceTimeoutEvent,
} from '@nestjs/resilience';
import { ResilienceModule, Signal, Timeout } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { CircuitBreakerPolicy, createPolicy, fanOut, optional, type StageOptions } from 'holdfast';
import { EventRecorder } from 'holdfast/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SeenEvents, type PayloadName } from './event-table.ts';
import { pages, read, tablesOf } from './pages.mjs';

interface Payloads {
  readonly ResilienceAbandonedEvent: ResilienceAbandonedEvent;
  readonly ResilienceBulkheadRejectedEvent: ResilienceBulkheadRejectedEvent;
  readonly ResilienceCircuitClosedEvent: ResilienceCircuitClosedEvent;
  readonly ResilienceCircuitHalfOpenEvent: ResilienceCircuitHalfOpenEvent;
  readonly ResilienceCircuitOpenEvent: ResilienceCircuitOpenEvent;
  readonly ResilienceCircuitRejectedEvent: ResilienceCircuitRejectedEvent;
  readonly ResilienceClientGoneEvent: ResilienceClientGoneEvent;
  readonly ResilienceDeadlineEvent: ResilienceDeadlineEvent;
  readonly ResilienceDegradedEvent: ResilienceDegradedEvent;
  readonly ResilienceFallbackEvent: ResilienceFallbackEvent;
  readonly ResilienceRateLimitedEvent: ResilienceRateLimitedEvent;
  readonly ResilienceRetryEvent: ResilienceRetryEvent;
  readonly ResilienceTimeoutEvent: ResilienceTimeoutEvent;
}

type Type = ResilienceEvent['type'];

/** The compiler refuses a missing type, and a name that is another type's. */
const PAYLOAD_NAMES: { readonly [T in Type]: PayloadName<Payloads, T> } = {
  retry: 'ResilienceRetryEvent',
  timeout: 'ResilienceTimeoutEvent',
  'circuit-open': 'ResilienceCircuitOpenEvent',
  'circuit-half-open': 'ResilienceCircuitHalfOpenEvent',
  'circuit-closed': 'ResilienceCircuitClosedEvent',
  'circuit-rejected': 'ResilienceCircuitRejectedEvent',
  'bulkhead-rejected': 'ResilienceBulkheadRejectedEvent',
  'rate-limited': 'ResilienceRateLimitedEvent',
  fallback: 'ResilienceFallbackEvent',
  abandoned: 'ResilienceAbandonedEvent',
  deadline: 'ResilienceDeadlineEvent',
  degraded: 'ResilienceDegradedEvent',
  'client-gone': 'ResilienceClientGoneEvent',
};

const seen = new SeenEvents(PAYLOAD_NAMES, ['holdfast', 'nestjs:resilience']);

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  seen.listen();
  const recorder = new EventRecorder();
  await emitAll();
  recorder.stop();
  for (const event of recorder.events) seen.emitted.set(event.type, event);
});
afterAll(() => {
  vi.useRealTimers();
});

async function emitAll(): Promise<void> {
  const fails = (): never => {
    throw new Error('down');
  };
  await run({ retry: { attempts: 2, backoff: { delay: 0 } }, fallback: () => 0 }, fails);
  const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, openDuration: 100 });
  await run({ circuitBreaker: breaker }, fails);
  await run({ circuitBreaker: breaker }, fails);
  vi.advanceTimersByTime(100);
  await run({ circuitBreaker: breaker }, () => 0);
  await run({ timeout: 10, bulkhead: { holdUntilSettled: false } }, () => new Promise(() => {}));
  await run({ budget: 10 }, () => new Promise(() => {}));
  await fanOut({ reviews: optional(fails, { fallback: null }) }, { budget: 10, minimum: 0, source: 'test' });
  const full = createPolicy({ bulkhead: { maxConcurrent: 1 } });
  void full.execute(() => new Promise(() => {}));
  await full.execute(() => 0, { source: 'test' }).catch(() => {});
  const limited = createPolicy({ outboundRateLimit: { limit: 1, interval: '1s' } });
  await limited.execute(() => 0);
  await limited.execute(() => 0, { source: 'test' }).catch(() => {});
  await leaveHandler();
}

/** Sends a request to a handler, and leaves. */
async function leaveHandler(): Promise<void> {
  let reached = (): void => {};
  let ended = (): void => {};
  const running = new Promise<void>((resolve) => (reached = resolve));
  const left = new Promise<void>((resolve) => (ended = resolve));
  @Controller()
  class HangingController {
    @Get()
    @Timeout('1m')
    hang(@Signal() signal: AbortSignal): Promise<void> {
      signal.addEventListener('abort', ended);
      reached();
      return new Promise(() => {});
    }
  }
  const imports = [ResilienceModule.forRoot()];
  const moduleRef = await Test.createTestingModule({ imports, controllers: [HangingController] }).compile();
  const app = moduleRef.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  const request = get(await app.getUrl()).on('error', () => {});
  await running;
  request.destroy();
  await left;
  await app.close();
}

async function run(stages: StageOptions, work: () => unknown): Promise<void> {
  const settled = createPolicy(stages)
    .execute(work, { source: 'test' })
    .catch(() => {});
  await vi.advanceTimersByTimeAsync(20);
  await settled;
}

const tables = pages().flatMap((path) => tablesOf(read(path)).map((table) => ({ path, ...table })));
const eventTables = tables.filter(({ name }) => name === 'Events');

describe('the table of events in the reference', () => {
  seen.testTypes(eventTables.find(({ path }) => path === 'docs/reference.md')?.rows ?? []);
});

describe.each(eventTables)('the table of events in $path', ({ rows }) => {
  it('has rows', () => {
    expect(rows.length).toBeGreaterThan(0);
  });

  seen.testFields(rows, ['type', 'policy']);
});

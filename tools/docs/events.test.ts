import { channel } from 'node:diagnostics_channel';
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
type NameOf<T extends Type> = {
  [Name in keyof Payloads]: Payloads[Name]['type'] extends T ? Name : never;
}[keyof Payloads];

/** The compiler refuses a missing type, and a name that is another type's. */
const PAYLOAD_NAMES: { readonly [T in Type]: NameOf<T> } = {
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

/** One real event of each type. */
const emitted = new Map<string, ResilienceEvent>();

/** The channels on which each of them was seen. */
const channels = new Map<string, Set<string>>();

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  for (const type of Object.keys(PAYLOAD_NAMES)) {
    const seen = new Set<string>();
    channels.set(type, seen);
    for (const prefix of ['holdfast', 'nestjs:resilience']) {
      channel(`${prefix}:${type}`).subscribe(() => void seen.add(`${prefix}:${type}`));
    }
  }
  const recorder = new EventRecorder();
  await emitAll();
  recorder.stop();
  for (const event of recorder.events) emitted.set(event.type, event);
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

const unticked = (cell = ''): string => cell.replaceAll('`', '');

describe('the table of events in the reference', () => {
  const rows = eventTables.find(({ path }) => path === 'docs/reference.md')?.rows ?? [];

  it('lists every type', () => {
    expect(rows.map(({ Type }) => unticked(Type)).toSorted()).toEqual(Object.keys(PAYLOAD_NAMES).toSorted());
  });

  it.each(rows)('names the payload of $Type', ({ Type, Payload }) => {
    expect(unticked(Payload)).toBe(PAYLOAD_NAMES[unticked(Type) as Type]);
  });

  it.each(rows)('is right about the channels of $Type', ({ Type }) => {
    const type = unticked(Type);

    expect([...(channels.get(type) ?? [])].toSorted()).toEqual([`holdfast:${type}`, `nestjs:resilience:${type}`]);
  });
});

describe.each(eventTables)('the table of events in $path', ({ rows }) => {
  it('has rows', () => {
    expect(rows.length).toBeGreaterThan(0);
  });

  it.each(rows)('lists the fields of $Type', ({ Type, Fields }) => {
    const event = emitted.get(unticked(Type));
    const { type: _type, policy: _policy, ...fields } = event as ResilienceEvent;

    expect(event?.policy).toEqual(expect.any(String));
    expect(unticked(Fields).split(' ').toSorted()).toEqual(Object.keys(fields).toSorted());
  });
});

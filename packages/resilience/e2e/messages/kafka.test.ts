import { Controller } from '@nestjs/common';
import { EventPattern, KafkaRetriableException, MessagePattern, Payload } from '@nestjs/microservices';
import {
  CircuitBreaker,
  deadlineHeader,
  Fallback,
  Resilience,
  ResilienceEvents,
  ResilienceModule,
  ResilienceService,
  Retry,
  Signal,
  type ResilienceEvent,
} from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { concat, of, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CapturedLog, freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, isPending } from '../fixtures/backend.js';
import { KafkaWithoutBroker } from '../fixtures/kafka.js';
import { afterTest, cleanUp } from '../fixtures/microservice.js';

let backend: Backend;
let outgoing: unknown[];

beforeEach(() => {
  backend = new Backend();
  outgoing = [];
});
afterEach(cleanUp);

const HEADER = 'x-request-timeout-ms';
const down = new DependencyError(503);

@Controller()
@Resilience('carrier')
class QuotesHandlers {
  @MessagePattern('limited')
  @CircuitBreaker({ name: 'limited', minimumCalls: 1 })
  limited(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    outgoing.push(deadlineHeader(HEADER));
    return backend.call(signal);
  }

  @MessagePattern('opted-in')
  @Retry()
  optedIn(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern('preset')
  @CircuitBreaker({ name: 'preset', minimumCalls: 100, slidingWindow: { type: 'count', size: 100 } })
  preset(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern('replaced')
  @Fallback(() => ({ price: 4.99 }))
  replaced() {
    return backend.call();
  }

  @MessagePattern('streamed')
  @Retry({ attempts: 3, backoff: { delay: 0 } })
  streamed() {
    void backend.call();
    return concat(
      of('ground'),
      throwError(() => down),
    );
  }

  @EventPattern<string>('moved')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  moved(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @EventPattern<string>('moved-once')
  movedOnce(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

const PRESETS = {
  carrier: {
    timeout: '1s',
    retry: { attempts: 2, backoff: { delay: 0 } },
    circuitBreaker: { minimumCalls: 100, slidingWindow: { type: 'count', size: 100 } },
  },
} as const;
const TIMED_OUT = { status: 'error', code: 'TIMEOUT', statusCode: 504, message: 'The operation timed out' };
const INTERNAL = { status: 'error', message: 'Internal server error' };

describe('A message over Kafka', () => {
  const startQuotes = async () => {
    const log = new CapturedLog();
    const module = await Test.createTestingModule({
      imports: [ResilienceModule.forRoot({ presets: PRESETS, deadlineHeaders: [HEADER] })],
      controllers: [QuotesHandlers],
    })
      .setLogger(log)
      .compile();
    const kafka = new KafkaWithoutBroker();
    const app = module.createNestMicroservice({ strategy: kafka });
    afterTest(() => app.close());
    await app.listen();
    const events: ResilienceEvent[] = [];
    app.get(ResilienceEvents).events$.subscribe((event) => events.push(event));
    return { kafka, events, log, resilience: app.get(ResilienceService) };
  };

  it('is answered with a payload of four keys when its time is up', async () => {
    const { kafka, log } = await startQuotes();
    freezeTime();
    const reply = kafka.ask('limited');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(999);
    expect(await isPending(reply)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    expect((await reply).error).toStrictEqual(TIMED_OUT);
    expect(backend.states).toEqual(['cancelled']);
    expect(log.errors).toEqual([]);
  });

  it('is told of an open breaker for how many seconds more', async () => {
    backend.script((call) => call.fail(down));
    const { kafka } = await startQuotes();
    expect((await kafka.ask('limited')).error).toStrictEqual(INTERNAL);

    expect((await kafka.ask('limited')).error).toStrictEqual({
      status: 'error',
      code: 'CIRCUIT_OPEN',
      statusCode: 503,
      message: 'Service temporarily unavailable',
      retryAfter: 30,
    });
    expect(backend.calls).toHaveLength(1);
  });

  it('is handled again by its own @Retry(), with the attempts of the preset', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer('asked again')));
    const { kafka } = await startQuotes();

    expect(await kafka.ask('opted-in')).toMatchObject({ value: 'asked again', error: undefined });
    expect(backend.calls).toHaveLength(2);
  });

  it('is not handled again by a preset', async () => {
    backend.script((call) => call.fail(down));
    const { kafka } = await startQuotes();

    expect((await kafka.ask('preset')).error).toStrictEqual(INTERNAL);
    expect(backend.calls).toHaveLength(1);
  });

  it('may be answered by a fallback', async () => {
    backend.script((call) => call.fail(down));
    const { kafka } = await startQuotes();

    expect(await kafka.ask('replaced')).toMatchObject({ value: '{"price":4.99}', error: undefined });
  });

  it('is committed by the first value', async () => {
    const { kafka } = await startQuotes();
    expect(await kafka.ask('streamed')).toMatchObject({ value: 'ground' });

    expect(backend.calls).toHaveLength(1);
  });

  it.each([[Buffer.from('300')], ['300']])('is bounded by what its headers say (%s)', async (value) => {
    const { kafka, resilience } = await startQuotes();
    freezeTime();
    const reply = kafka.ask('limited', { [HEADER]: value });
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(300);

    expect((await reply).error).toMatchObject({ code: 'DEADLINE_EXCEEDED', statusCode: 504 });
    expect(outgoing).toEqual(['300']);
    expect(resilience.circuitBreaker('limited').stats.total).toBe(0);
  });

  it.each([
    ['{"a":1}'],
    ['["300","400"]'],
    [Buffer.from([0, 51, 48, 48])],
    [Buffer.alloc(1_000_000, '1')],
    [[Buffer.from('300'), Buffer.from('300')]],
    ['3e2'],
  ])('is not bounded by what is not exactly in its form (%#)', async (value) => {
    backend.script((call) => call.answer('fine'));
    const { kafka } = await startQuotes();

    expect(await kafka.ask('limited', { [HEADER]: value })).toMatchObject({ value: 'fine' });
    expect(outgoing).toEqual([undefined]);
  });

  it('that is an event is handled again by its own @Retry(), and handed over again when that fails', async () => {
    backend.script((call, nth) => (nth < 4 ? call.fail(down) : call.answer('done')));
    const { kafka } = await startQuotes();
    await expect(kafka.deliver('moved')).rejects.toBeDefined();
    expect(backend.calls).toHaveLength(2);
    await kafka.deliver('moved');

    expect(backend.states).toEqual(['failed', 'failed', 'failed', 'answered']);
  });

  it('that is an event is handled once by a preset, and ends at its limit', async () => {
    const { kafka, events } = await startQuotes();
    freezeTime();
    const delivery = kafka.deliver('moved-once');
    const rejected = expect(delivery).rejects.toMatchObject(TIMED_OUT);
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    await rejected;
    expect(backend.states).toEqual(['cancelled']);
    expect(events.map(({ type }) => type)).toEqual(['timeout']);
  });

  it('is handed over again where the handler says so, after its attempts, and counts as a failure', async () => {
    backend.script((call) => call.fail(new KafkaRetriableException('not yet')));
    const { kafka, resilience } = await startQuotes();

    await expect(kafka.ask('opted-in')).rejects.toBeInstanceOf(KafkaRetriableException);
    expect(backend.calls).toHaveLength(2);
    expect(resilience.circuitBreaker('carrier').stats).toMatchObject({ total: 2, failures: 2 });
  });
});

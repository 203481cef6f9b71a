import { Controller } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { CircuitBreaker, deadlineHeader, Retry, Signal, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, isPending } from '../fixtures/backend.js';
import { dataWith, type HeaderValues } from '../fixtures/message-headers.js';
import { EVERY_TRANSPORT, onTransports, patternOf } from '../fixtures/microservice.js';

const HEADER = 'x-request-timeout-ms';

let backend: Backend;
const outgoing: unknown[] = [];

beforeEach(() => {
  backend = new Backend();
  outgoing.length = 0;
});

@Controller()
class QuotesHandlers {
  @MessagePattern(patternOf('limited'))
  @Timeout('1s')
  @CircuitBreaker({ name: 'carrier', minimumCalls: 1 })
  limited(@Signal() signal: AbortSignal) {
    outgoing.push(deadlineHeader(HEADER));
    return backend.call(signal);
  }

  @MessagePattern(patternOf('retried'))
  @Retry({ attempts: 3, backoff: { delay: 400, jitter: 'none' } })
  retried(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @EventPattern<string>(patternOf('event'))
  @Timeout('1s')
  event(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('plain'))
  plain() {
    return backend.call();
  }
}

const EXCEEDED = { status: 'error', code: 'DEADLINE_EXCEEDED', statusCode: 504, message: 'The operation timed out' };

onTransports(EVERY_TRANSPORT, 'What the sender of a message says about how long it will wait', (start, { name }) => {
  const startQuotes = async (options = {}) => {
    const service = await start({
      controllers: [QuotesHandlers],
      options: { deadlineHeaders: ['X-Request-Timeout-Ms', 'grpc-timeout'], ...options },
    });
    const sendWith = (pattern: string, headers: HeaderValues) =>
      service.send(patternOf(pattern), dataWith(name, { client: service.client, data: {}, headers }));
    freezeTime();

    return { ...service, sendWith };
  };

  it.each([
    [HEADER, '300'],
    ['X-Request-Timeout-MS', '300'],
    ['grpc-timeout', '300m'],
  ])('shortens what the handler has (%s: %s)', async (header, value) => {
    const { sendWith, events, resilience } = await startQuotes();
    const answer = sendWith('limited', { [header]: value });
    const running = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(299);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    await expect(answer).rejects.toStrictEqual(EXCEEDED);
    expect(running.signal?.reason).toMatchObject({ code: 'DEADLINE_EXCEEDED', budgetMs: 300 });
    expect(events).toMatchObject([{ type: 'deadline', budgetMs: 300 }]);
    expect(outgoing).toEqual(['300']);
    expect(resilience.circuitBreaker('carrier').stats.total).toBe(0);
  });

  it('never lengthens it', async () => {
    const { sendWith } = await startQuotes();
    const answer = sendWith('limited', { [HEADER]: '5000' });
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    await expect(answer).rejects.toMatchObject({ code: 'TIMEOUT' });
  });

  it('ends the retries that do not fit, with the last real error', async () => {
    backend.script((call) => call.fail(new DependencyError(503)));
    const { sendWith } = await startQuotes();

    await expect(sendWith('retried', { [HEADER]: '300' })).rejects.toEqual({
      status: 'error',
      message: 'Internal server error',
    });
    expect(backend.calls).toHaveLength(1);
  });

  it.each([
    [{ [HEADER]: '0' }],
    [{ [HEADER]: '-5' }],
    [{ [HEADER]: '1e2' }],
    [{ [HEADER]: '3 00' }],
    [{ [HEADER]: '3600001' }],
    [{ [HEADER]: '' }],
    [{ [HEADER]: ['100', '200'] }],
    [{ 'connect-timeout-ms': '100' }],
    [{ 'x-other': '100' }],
  ])('is ignored when it is not exactly in its form, comes twice, or is not named: %j', async (headers) => {
    const { sendWith } = await startQuotes();
    const answer = sendWith('limited', headers as HeaderValues);
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(999);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    await expect(answer).rejects.toMatchObject({ code: 'TIMEOUT' });
  });

  it('is not read unless the application names a header', async () => {
    const { sendWith } = await startQuotes({ deadlineHeaders: undefined });
    const answer = sendWith('limited', { [HEADER]: '300' });
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    await expect(answer).rejects.toMatchObject({ code: 'TIMEOUT' });
  });

  it('keeps the handler from running when it is over on arrival', async () => {
    const { sendWith, events } = await startQuotes({ minRemaining: 20 });

    await expect(sendWith('limited', { [HEADER]: '19' })).rejects.toStrictEqual(EXCEEDED);
    expect(backend.calls).toHaveLength(0);
    expect(events).toMatchObject([{ type: 'deadline', budgetMs: 19 }]);
  });

  it('holds for an event, and not for a handler without decorators', async () => {
    const { client, send, emit } = await startQuotes();
    const data = () => dataWith(name, { client, data: {}, headers: { [HEADER]: '300' } });
    // Not waited for: RabbitMQ's client waits for its confirmation on a timer, and time stands still.
    void emit(patternOf('event'), data());
    await backend.reached(1);
    const plain = send(patternOf('plain'), data());
    const running = await backend.reached(2);
    await vi.advanceTimersByTimeAsync(60_000);

    expect(backend.states).toEqual(['cancelled', 'running']);
    running.answer('done');
    expect(await plain).toEqual(['done']);
  });
});

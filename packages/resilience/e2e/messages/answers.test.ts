import { Controller } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import {
  Budget,
  Bulkhead,
  CircuitBreaker,
  CircuitOpenError,
  Fallback,
  Resilience,
  ResilienceService,
  Signal,
  Timeout,
  type ResiliencePolicy,
} from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, isPending, until } from '../fixtures/backend.js';
import { EVERY_TRANSPORT, onTransports, patternOf } from '../fixtures/microservice.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@Controller()
class QuotesHandlers {
  private readonly partner: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.partner = resilience.create({ outboundRateLimit: { limit: 1, interval: '40s' } }, 'partner');
  }

  @MessagePattern(patternOf('answered'))
  @Timeout('1s')
  answered() {
    return { price: 6.9 };
  }

  @MessagePattern(patternOf('limited'))
  @Timeout('1s')
  limited(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('budgeted'))
  @Budget('1s')
  budgeted(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('breaker'))
  @CircuitBreaker({ name: 'carrier', minimumCalls: 1, openDuration: '29.5s' })
  @Timeout('1s')
  breaker(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('bulkhead'))
  @Bulkhead({ maxConcurrent: 1 })
  bulkhead(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('partner'))
  @Resilience('partner')
  partnerLimited() {
    return 'asked';
  }

  @MessagePattern(patternOf('fallback'))
  @Timeout('1s')
  @Fallback(() => ({ price: 4.99 }))
  fallback(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('undecorated'))
  undecorated() {
    return this.partner.execute(() => 'asked');
  }

  @MessagePattern(patternOf('failing'))
  @Timeout('1s')
  failing() {
    throw new DependencyError(500);
  }

  @MessagePattern(patternOf('open'))
  open() {
    throw new CircuitOpenError('carrier', 1_001);
  }
}

const PRESETS = { presets: { partner: { outboundRateLimit: { limit: 1, interval: '40s' } } } } as const;

onTransports(EVERY_TRANSPORT, 'What the caller of a message gets', (start) => {
  const startQuotes = async (options = {}) => {
    const service = await start({ controllers: [QuotesHandlers], options: { ...PRESETS, ...options } });
    freezeTime();
    return service;
  };

  it('is the reply', async () => {
    const { send } = await startQuotes();

    expect(await send(patternOf('answered'))).toEqual([{ price: 6.9 }]);
  });

  it('is, when the time is up and not a millisecond earlier, a payload of four keys', async () => {
    const { send, log } = await startQuotes();
    const answer = send(patternOf('limited'));
    const running = await backend.reached(1);

    await vi.advanceTimersByTimeAsync(999);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    await expect(answer).rejects.toStrictEqual({
      status: 'error',
      code: 'TIMEOUT',
      statusCode: 504,
      message: 'The operation timed out',
    });
    expect(running.state).toBe('cancelled');
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it('names a budget that has been spent', async () => {
    const { send } = await startQuotes();
    const answer = send(patternOf('budgeted'));
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    await expect(answer).rejects.toStrictEqual({
      status: 'error',
      code: 'DEADLINE_EXCEEDED',
      statusCode: 504,
      message: 'The operation timed out',
    });
  });

  it('says of an open breaker for how many seconds more', async () => {
    backend.script((call) => call.fail(new DependencyError(503)));
    const { send, resilience } = await startQuotes();
    await expect(send(patternOf('breaker'))).rejects.toEqual({ status: 'error', message: 'Internal server error' });
    expect(resilience.circuitBreaker('carrier').state).toBe('open');

    await expect(send(patternOf('breaker'))).rejects.toStrictEqual({
      status: 'error',
      code: 'CIRCUIT_OPEN',
      statusCode: 503,
      message: 'Service temporarily unavailable',
      retryAfter: 30,
    });
    expect(backend.calls).toHaveLength(1);
  });

  it('says that a bulkhead is full, message by message', async () => {
    const { send } = await startQuotes();
    const first = send(patternOf('bulkhead'));
    const running = await backend.reached(1);

    await expect(send(patternOf('bulkhead'))).rejects.toStrictEqual({
      status: 'error',
      code: 'BULKHEAD_FULL',
      statusCode: 503,
      message: 'Server is at capacity',
    });
    running.answer('done');
    expect(await first).toEqual(['done']);
  });

  it.each(['partner', 'undecorated'])('says when a partner may be asked again (%s)', async (handler) => {
    const { send } = await startQuotes();
    expect(await send(patternOf(handler))).toEqual(['asked']);

    await expect(send(patternOf(handler))).rejects.toStrictEqual({
      status: 'error',
      code: 'RATE_LIMITED',
      statusCode: 503,
      message: 'Rate limit of a dependency exceeded',
      retryAfter: 40,
    });
  });

  it('is the fallback’s value in place of the handler’s', async () => {
    const { send } = await startQuotes();
    const answer = send(patternOf('fallback'));
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await answer).toEqual([{ price: 4.99 }]);
  });

  it('stays Nest’s own for every other error', async () => {
    const { send, log } = await startQuotes();

    await expect(send(patternOf('failing'))).rejects.toStrictEqual({
      status: 'error',
      message: 'Internal server error',
    });
    expect(log.errors).toHaveLength(1);
  });

  it('is Nest’s own with mapErrors: false too', async () => {
    const { send, log } = await startQuotes({ mapErrors: false });

    await expect(send(patternOf('open'))).rejects.toStrictEqual({ status: 'error', message: 'Internal server error' });
    await until(() => log.errors.length === 1);
  });
});

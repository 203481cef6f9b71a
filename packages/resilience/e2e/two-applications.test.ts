import { Controller, Get } from '@nestjs/common';
import { Bulkhead, CircuitBreaker, Resilience, ResilienceEvents, Retry, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend, isPending, turns } from './fixtures/backend.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@Controller()
class QuotesController {
  @Get('quotes')
  @Resilience('carrier')
  quotes() {
    return backend.call();
  }

  @Get('own')
  @CircuitBreaker({ minimumCalls: 1 })
  @Timeout('1m')
  own() {
    return backend.call();
  }

  @Get('pool')
  @Bulkhead({ name: 'pool', maxConcurrent: 1 })
  pool() {
    return backend.call();
  }

  @Get('waiting')
  @Retry({ attempts: 2, backoff: { delay: 500, jitter: 'none' } })
  waiting() {
    return backend.call();
  }
}

const options = {
  presets: {
    carrier: {
      circuitBreaker: { openDuration: '30s' },
      timeout: '1m',
      outboundRateLimit: { limit: 1, interval: '1h' },
    },
  },
} as const;

onBothAdapters('Two applications in one process', (start) => {
  const startOne = () => start({ controllers: [QuotesController], options });

  it('share no breaker, bulkhead or rate limit of the same name', async () => {
    const [one, other] = [await startOne(), await startOne()];
    one.resilience.circuitBreaker('carrier').trip();
    backend.script((call) => call.answer('fine'));

    expect((await one.call('/quotes')).status).toBe(503);
    expect((await other.call('/quotes')).status).toBe(200);
    expect(one.resilience.outboundRateLimit('carrier').available).toBe(1);
    expect(other.resilience.outboundRateLimit('carrier').available).toBe(0);

    backend.script((call) => call.fail(new Error('down')));
    await one.call('/own');
    expect(one.resilience.circuitBreaker('QuotesController.own').state).toBe('open');
    expect(other.resilience.circuitBreaker('QuotesController.own').state).toBe('closed');

    backend.script(() => {});
    const running = one.call('/pool');
    const inside = await backend.reached(backend.calls.length + 1);
    backend.script((call) => call.answer('fine'));
    expect((await one.call('/pool')).status).toBe(503);
    expect((await other.call('/pool')).status).toBe(200);
    inside.answer('fine');
    await running;
  });

  it('hear of no events of each other', async () => {
    const [one, other] = [await startOne(), await startOne()];
    one.resilience.circuitBreaker('carrier').trip();
    await one.call('/quotes');

    expect(one.events.map(({ type }) => type)).toEqual(['circuit-open', 'circuit-rejected']);
    expect(other.events).toEqual([]);
  });

  it('do not end each other: one that closes completes its own events only', async () => {
    const [one, other] = [await startOne(), await startOne()];
    const ended: string[] = [];
    one.app.get(ResilienceEvents).events$.subscribe({ complete: () => ended.push('one') });
    other.app.get(ResilienceEvents).events$.subscribe({ complete: () => ended.push('other') });

    await one.app.close();

    expect(ended).toEqual(['one']);
    other.resilience.circuitBreaker('carrier').trip();
    expect((await other.call('/quotes')).status).toBe(503);
    expect(other.events.map(({ type }) => type)).toEqual(['circuit-open', 'circuit-rejected']);
  });

  it('leave no timer behind when they close', async () => {
    const one = await startOne();
    backend.script((call) => call.answer('fine'));
    freezeTime();
    await one.call('/quotes');
    await one.call('/own');
    await one.call('/pool');

    expect(vi.getTimerCount()).toBe(0);
  });

  it('abort and drain nothing when they close: what waits between two attempts goes on', async () => {
    const one = await startOne();
    backend.script((call, nth) => (nth === 1 ? call.fail(new Error('down')) : call.answer('fine')));
    freezeTime();
    const answer = one.call('/waiting');
    await backend.reached(1);
    await turns();
    const closing = one.app.close();
    expect(await isPending(answer)).toBe(true);

    await vi.advanceTimersByTimeAsync(500);

    expect((await answer).text).toBe('fine');
    vi.useRealTimers();
    await closing;
  });
});

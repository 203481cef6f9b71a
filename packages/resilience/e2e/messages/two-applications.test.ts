import { Controller, type Type } from '@nestjs/common';
import { EventPattern, MessagePattern } from '@nestjs/microservices';
import { Bulkhead, Resilience, ResilienceEvents, Retry } from '@nestjs/resilience';
import { beforeEach, expect, it } from 'vitest';
import { Backend, DependencyError, until } from '../fixtures/backend.js';
import { EVERY_TRANSPORT, onTransports, patternOf } from '../fixtures/microservice.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

/** The same handlers for each application, under patterns of its own: they have the broker in common. */
function handlersOf(application: string): Type {
  @Controller()
  class QuotesHandlers {
    @MessagePattern(patternOf(`${application}.quotes`))
    @Resilience('carrier')
    quotes() {
      return backend.call();
    }

    @MessagePattern(patternOf(`${application}.pool`))
    @Bulkhead({ name: 'pool', maxConcurrent: 1 })
    pool() {
      return backend.call();
    }

    @EventPattern<string>(patternOf(`${application}.moved`))
    @Retry({ attempts: 2, backoff: { delay: 0 } })
    moved() {
      return backend.call();
    }
  }

  return QuotesHandlers;
}

const OPTIONS = {
  presets: {
    carrier: {
      circuitBreaker: { minimumCalls: 1, openDuration: '30s' },
      timeout: '1m',
      outboundRateLimit: { limit: 2, interval: '1h' },
    },
  },
} as const;

onTransports(EVERY_TRANSPORT, 'Two microservices in one process', (start) => {
  const startBoth = async () =>
    [
      await start({ controllers: [handlersOf('one')], options: OPTIONS }),
      await start({ controllers: [handlersOf('other')], options: OPTIONS }),
    ] as const;

  it('share no breaker, rate limit or bulkhead of the same name, and hear no events of each other', async () => {
    const [one, other] = await startBoth();
    backend.script((call) => call.fail(new DependencyError(503)));
    await expect(one.send(patternOf('one.quotes'))).rejects.toBeDefined();
    backend.script((call) => call.answer('fine'));

    await expect(one.send(patternOf('one.quotes'))).rejects.toMatchObject({ code: 'CIRCUIT_OPEN', statusCode: 503 });
    expect(await other.send(patternOf('other.quotes'))).toEqual(['fine']);
    expect(await other.send(patternOf('other.quotes'))).toEqual(['fine']);
    await expect(other.send(patternOf('other.quotes'))).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      statusCode: 503,
    });
    expect(one.resilience.outboundRateLimit('carrier').available).toBe(1);
    expect(one.events.map(({ type }) => type)).toEqual(['circuit-open', 'circuit-rejected']);
    expect(other.events.map(({ type }) => type)).toEqual(['rate-limited']);
  });

  it('have slots of their own', async () => {
    const [one, other] = await startBoth();
    const held = one.send(patternOf('one.pool'));
    const running = await backend.reached(1);
    backend.script((call) => call.answer('fine'));

    await expect(one.send(patternOf('one.pool'))).rejects.toMatchObject({ code: 'BULKHEAD_FULL' });
    expect(await other.send(patternOf('other.pool'))).toEqual(['fine']);
    running.answer('done');
    expect(await held).toEqual(['done']);
  });

  it('do not end each other: the one that goes on handles messages and events, and tells of them', async () => {
    const [one, other] = await startBoth();
    const ended: string[] = [];
    one.app.get(ResilienceEvents).events$.subscribe({ complete: () => ended.push('one') });
    other.app.get(ResilienceEvents).events$.subscribe({ complete: () => ended.push('other') });
    await one.close();
    backend.script((call, nth) => (nth === 1 ? call.fail(new DependencyError(503)) : call.answer('fine')));
    await other.emit(patternOf('other.moved'));
    await until(() => backend.states.join() === 'failed,answered');

    expect(await other.send(patternOf('other.quotes'))).toEqual(['fine']);
    expect(ended).toEqual(['one']);
    expect(other.events.map(({ type }) => type)).toEqual(['retry']);
    expect(other.log.errors).toEqual([]);
  });
});

import { Controller } from '@nestjs/common';
import { MessagePattern, type ClientProxy } from '@nestjs/microservices';
import { boundedClient, ResilienceContext, Timeout } from '@nestjs/resilience';
import { lastValueFrom } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, until } from '../fixtures/backend.js';
import { EVERY_TRANSPORT, onTransports, patternOf } from '../fixtures/microservice.js';

let backend: Backend;
let downstream: ClientProxy;
const signals: (AbortSignal | undefined)[] = [];

beforeEach(() => {
  backend = new Backend();
  signals.length = 0;
});

@Controller()
class Orders {
  constructor(private readonly context: ResilienceContext) {}

  @MessagePattern(patternOf('order'))
  @Timeout('1s')
  async order() {
    const stock = await lastValueFrom(downstream.send<unknown>(patternOf('stock'), {}));
    signals.push(this.context.signal);
    return stock;
  }

  @MessagePattern(patternOf('stock'))
  stock() {
    return backend.call();
  }
}

onTransports(EVERY_TRANSPORT, 'A connection that was opened inside an attempt which timed out', (start) => {
  it.each(['plain', 'bounded'])('serves later attempts, which have their own signal (%s client)', async (kind) => {
    const { send, connect, log } = await start({ controllers: [Orders] });
    downstream = kind === 'plain' ? connect() : boundedClient(connect(), { header: 'x-request-timeout-ms' });
    freezeTime();
    // Nothing has connected it: the first attempt does.
    const first = send(patternOf('order'));
    const hanging = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(first).rejects.toMatchObject({ code: 'TIMEOUT' });
    hanging.answer('too late');
    if (kind === 'plain') await until(() => signals.length === 1);

    backend.script((call) => call.answer('in stock'));
    signals.length = 0;
    for (let nth = 1; nth <= 3; nth++) expect(await send(patternOf('order'))).toEqual(['in stock']);
    expect(signals.map((signal) => signal?.aborted)).toEqual([false, false, false]);
    expect(new Set(signals).size).toBe(3);
    expect(log.errors).toEqual([]);
  });
});

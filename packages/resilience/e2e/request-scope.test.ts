import { Controller, Get, Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Bulkhead, CircuitBreaker, Fallback, ResilienceService, Retry, Signal, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it } from 'vitest';
import { onBothAdapters } from './fixtures/application.js';
import { Backend, isPending } from './fixtures/backend.js';

let backend: Backend;
let made = 0;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
  made = 0;
});

@Injectable({ scope: Scope.REQUEST })
class CurrentUser {
  readonly name: string;

  constructor(@Inject(REQUEST) request: { headers: Record<string, string> }) {
    made += 1;
    this.name = request.headers['x-user'] ?? 'nobody';
  }
}

@Controller('scoped')
class ScopedController {
  constructor(
    private readonly user: CurrentUser,
    private readonly resilience: ResilienceService,
  ) {}

  @Get('retried')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @Timeout('1m')
  @CircuitBreaker({ minimumCalls: 4, failureRateThreshold: 100 })
  async retried(@Signal() signal: AbortSignal) {
    await backend.call(signal);
    return this.user.name;
  }

  @Get('queued')
  @Bulkhead({ maxConcurrent: 1, maxQueue: 5 })
  async queued() {
    await backend.call();
    return this.user.name;
  }

  @Get('replaced')
  @Fallback((_error, context) => context.switchToHttp().getRequest<{ headers: object }>().headers)
  async replaced() {
    await backend.call();
    return this.user.name;
  }

  @Get('policy')
  policy() {
    return this.resilience.preset('carrier').execute(() => this.user.name);
  }
}

@Controller({ path: 'transient', scope: Scope.TRANSIENT })
class TransientController {
  @Get()
  @CircuitBreaker({ minimumCalls: 1 })
  @Timeout('1m')
  get() {
    return backend.call();
  }
}

onBothAdapters('A request-scoped controller', (start) => {
  const startScoped = () =>
    start({
      controllers: [ScopedController, TransientController],
      providers: [CurrentUser],
      options: { presets: { carrier: { timeout: '1m', retry: 2 } } },
    });
  const as = (user: string) => ({ headers: { 'x-user': user } });

  it('serves each user with an instance of their own, in every attempt', async () => {
    backend.script((call, nth) => (nth % 2 === 1 ? call.fail(down) : call.answer('fine')));
    const { call } = await startScoped();

    expect((await call('/scoped/retried', as('ann'))).text).toBe('ann');
    expect((await call('/scoped/retried', as('bob'))).text).toBe('bob');
    expect(made).toBe(2);
  });

  it('keeps the instance of a user in attempts that begin after another user has come', async () => {
    const { call } = await startScoped();
    const ann = call('/scoped/retried', as('ann'));
    const firstOfAnn = await backend.reached(1);
    const bob = call('/scoped/retried', as('bob'));
    const firstOfBob = await backend.reached(2);

    firstOfAnn.fail(down);
    (await backend.reached(3)).answer('fine');
    firstOfBob.fail(down);
    (await backend.reached(4)).answer('fine');

    expect([(await ann).text, (await bob).text]).toEqual(['ann', 'bob']);
    expect(made).toBe(2);
  });

  it('keeps the instance of a user through a wait in the queue', async () => {
    const { call } = await startScoped();
    const ann = call('/scoped/queued', as('ann'));
    const first = await backend.reached(1);
    const bob = call('/scoped/queued', as('bob'));
    expect(await isPending(bob)).toBe(true);

    first.answer('fine');
    (await backend.reached(2)).answer('fine');

    expect([(await ann).text, (await bob).text]).toEqual(['ann', 'bob']);
  });

  it('shares its breaker between all its instances', async () => {
    backend.script((call) => call.fail(down));
    const { call, resilience } = await startScoped();

    await call('/scoped/retried', as('ann'));
    expect(resilience.circuitBreaker('ScopedController.retried').stats.failures).toBe(2);
    await call('/scoped/retried', as('bob'));
    expect(resilience.circuitBreaker('ScopedController.retried').state).toBe('open');
    expect(resilience.circuitBreakers()).toHaveLength(2);
  });

  it('may have a function for a fallback, which sees the request at hand', async () => {
    backend.script((call) => call.fail(down));
    const { call } = await startScoped();

    expect((await call('/scoped/replaced', as('ann'))).body).toMatchObject({ 'x-user': 'ann' });
    expect((await call('/scoped/replaced', as('bob'))).body).toMatchObject({ 'x-user': 'bob' });
  });

  it('shows a fallback no other request, whoever has come meanwhile', async () => {
    const { call } = await startScoped();
    const ann = call('/scoped/replaced', as('ann'));
    const first = await backend.reached(1);
    const bob = call('/scoped/replaced', as('bob'));
    const second = await backend.reached(2);
    first.fail(down);
    second.fail(down);

    expect([(await ann).body, (await bob).body]).toMatchObject([{ 'x-user': 'ann' }, { 'x-user': 'bob' }]);
  });

  it('may use a preset, whose policy keeps nothing of a request', async () => {
    const { call } = await startScoped();

    expect((await call('/scoped/policy', as('ann'))).text).toBe('ann');
    expect((await call('/scoped/policy', as('bob'))).text).toBe('bob');
  });

  it('or a transient one has its plan', async () => {
    backend.script((call) => call.fail(down));
    const { call } = await startScoped();

    expect((await call('/transient')).status).toBe(500);
    expect((await call('/transient')).status).toBe(503);
  });
});

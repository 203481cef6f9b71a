import { Controller, Get, HttpException, Injectable, Post } from '@nestjs/common';
import {
  CircuitBreaker,
  CircuitOpenError,
  Fallback,
  Resilience,
  ResilienceService,
  Retry,
  Signal,
  Timeout,
  type ResiliencePolicy,
  type AbortOnDisconnect,
} from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend, DependencyError, turns } from './fixtures/backend.js';
import { send } from './fixtures/client.js';

let backend: Backend;
const down = new Error('down');
const failing = () => backend.script((call) => call.fail(down));

beforeEach(() => {
  backend = new Backend();
});

@Injectable()
class RepricingService {
  private readonly policy: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.policy = resilience.preset('carrier');
  }

  reprice(): Promise<unknown> {
    return this.policy.execute(({ signal }) => backend.call(signal), { source: 'RepricingService.reprice' });
  }
}

@Controller('shipping')
class ShippingController {
  @Get('quotes')
  @Resilience('carrier')
  @Timeout('1.5s')
  @Fallback('flatRateQuotes', { handleIf: (error) => error instanceof CircuitOpenError })
  getQuotes(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  flatRateQuotes() {
    return [{ service: 'flat-rate' }];
  }

  @Post('shipments')
  @Resilience('carrier')
  @Retry({ idempotent: true })
  createShipment(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

@Controller('own')
@CircuitBreaker({ minimumCalls: 1, openDuration: '30s' })
@Timeout('1m')
class OwnController {
  @Get('one')
  one() {
    return backend.call();
  }

  @Get('two')
  two() {
    return backend.call();
  }

  @Get('picky')
  @CircuitBreaker({ minimumCalls: 1, recordIf: (error) => error instanceof HttpException && error.getStatus() === 404 })
  picky() {
    return backend.call();
  }

  @Get('broken')
  @CircuitBreaker({
    minimumCalls: 1,
    recordIf: () => {
      throw new HttpException('recordIf broke', 599);
    },
  })
  broken() {
    return backend.call();
  }
}

@Controller('order')
class OrderController {
  @Get()
  @Fallback(() => 'stale')
  @Retry({ attempts: 5, backoff: { delay: 0 } })
  @CircuitBreaker({ name: 'ordered', minimumCalls: 2, failureRateThreshold: 100 })
  @Timeout('1m')
  get() {
    return backend.call();
  }
}

onBothAdapters('A breaker', (start) => {
  const startShop = (abortOnDisconnect: AbortOnDisconnect = 'safe') =>
    start({
      controllers: [ShippingController, OwnController, OrderController],
      providers: [RepricingService],
      options: {
        abortOnDisconnect,
        defaults: { timeout: '5s', retry: { attempts: 3, backoff: { delay: '200ms', maxDelay: '2s' } } },
        presets: {
          carrier: {
            timeout: '2s',
            retry: { attempts: 2 },
            circuitBreaker: { failureRateThreshold: 50, minimumCalls: 10, openDuration: '30s' },
          },
        },
      },
    });

  it('opens on the fifth slow request, whose second attempt is refused and whose fallback answers', async () => {
    const { call, resilience, events } = await startShop();
    const breaker = resilience.circuitBreaker('carrier');
    backend.script((running) => running.answer([{ service: 'ground' }]));
    await call('/shipping/quotes');
    backend.script(() => {});
    freezeTime();

    for (let request = 1; request <= 4; request++) {
      const answer = call('/shipping/quotes');
      await backend.reached(request * 2);
      await vi.advanceTimersByTimeAsync(0);
      await vi.advanceTimersByTimeAsync(3_300);
      expect((await answer).status).toBe(504);
    }
    expect(breaker.stats).toMatchObject({ total: 9, failures: 8 });
    expect(breaker.state).toBe('closed');
    events.length = 0;

    const fifth = call('/shipping/quotes');
    await backend.reached(10);
    await vi.advanceTimersByTimeAsync(3_300);

    expect((await fifth).body).toEqual([{ service: 'flat-rate' }]);
    expect(backend.calls).toHaveLength(10);
    expect(events.map(({ type }) => type)).toEqual([
      'timeout',
      'circuit-open',
      'retry',
      'circuit-rejected',
      'fallback',
    ]);
    const booking = await call('/shipping/shipments', { method: 'POST', body: {} });
    expect(booking.status).toBe(503);
    expect(Number(booking.headers['retry-after'])).toBeGreaterThanOrEqual(27);
    expect(backend.calls).toHaveLength(10);
  });

  it('tells its transition before the retry of the same attempt, and one backoff is spent before the refusal', async () => {
    failing();
    const { call, events } = await startShop();

    expect((await call('/order')).text).toBe('stale');

    expect(events.map(({ type }) => type)).toEqual(['retry', 'circuit-open', 'retry', 'circuit-rejected', 'fallback']);
    expect(events[1]).toEqual({
      type: 'circuit-open',
      policy: 'ordered',
      source: 'OrderController.get',
      from: 'closed',
      to: 'open',
    });
  });

  it('is shared by routes and services, in both directions', async () => {
    const { call, app, resilience } = await startShop();
    const job = app.get(RepricingService);
    const breaker = resilience.circuitBreaker('carrier');
    failing();
    freezeTime();
    for (let n = 0; n < 5; n++) {
      await Promise.all([expect(job.reprice()).rejects.toBe(down), vi.advanceTimersByTimeAsync(300)]);
    }
    expect(breaker.state).toBe('open');

    const flatRate = await call('/shipping/quotes');
    expect(flatRate.body).toEqual([{ service: 'flat-rate' }]);
    await expect(job.reprice()).rejects.toBeInstanceOf(CircuitOpenError);
    expect(backend.calls).toHaveLength(10);

    backend.script((running) => running.answer([{ service: 'ground' }]));
    await vi.advanceTimersByTimeAsync(30_000);
    expect((await call('/shipping/quotes')).body).toEqual([{ service: 'ground' }]);
    expect(breaker.state).toBe('closed');
    await expect(job.reprice()).resolves.toEqual([{ service: 'ground' }]);
  });

  it.each([
    ['a 404 of the handler', () => new HttpException('no', 404), 404],
    ['a 429 of the handler', () => new HttpException('no', 429), 429],
    ['a 422 of the dependency', () => new DependencyError(422), 500],
  ])('ignores what blames the request: %s', async (_, error, status) => {
    backend.script((running) => running.fail(error()));
    const { call, resilience } = await startShop();

    expect((await call('/own/one')).status).toBe(status);

    expect(resilience.circuitBreaker('OwnController.one').stats.total).toBe(0);
  });

  it('of a class is one for each handler, named after it', async () => {
    failing();
    const { call, resilience } = await startShop();

    await call('/own/one');

    expect(resilience.circuitBreaker('OwnController.one').state).toBe('open');
    expect(resilience.circuitBreaker('OwnController.two').state).toBe('closed');
  });

  it('asks recordIf where there is one, of client errors too', async () => {
    const { call, resilience } = await startShop();
    const breaker = resilience.circuitBreaker('OwnController.picky');
    failing();
    await call('/own/picky');
    expect(breaker.stats.total).toBe(0);

    backend.script((running) => running.fail(new HttpException('no', 404)));
    expect((await call('/own/picky')).status).toBe(404);
    expect(breaker.state).toBe('open');
  });

  it('counts a failure, and answers with the error of recordIf, when that fails', async () => {
    failing();
    const { call, resilience } = await startShop();

    expect(await call('/own/broken')).toMatchObject({ status: 599, body: { message: 'recordIf broke' } });
    expect(resilience.circuitBreaker('OwnController.broken').state).toBe('open');
  });

  it('lets one probe through after openDuration, to the millisecond, however many requests come at once', async () => {
    const { call, resilience } = await startShop();
    const breaker = resilience.circuitBreaker('OwnController.one');
    freezeTime();
    breaker.trip();
    await vi.advanceTimersByTimeAsync(29_999);
    expect((await call('/own/one')).status).toBe(503);

    await vi.advanceTimersByTimeAsync(1);
    const answers = Array.from({ length: 20 }, () => call('/own/one'));
    const probe = await backend.reached(1);
    await turns(200);
    probe.answer('fine');

    const statuses = (await Promise.all(answers)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array<number>(19).fill(503)]);
    expect(backend.calls).toHaveLength(1);
    expect(breaker.state).toBe('closed');
  });

  it('probes anew when the client of a probe has gone', async () => {
    const { resilience, url, call } = await startShop();
    const breaker = resilience.circuitBreaker('OwnController.one');
    freezeTime();
    breaker.trip();
    await vi.advanceTimersByTimeAsync(30_000);
    const request = send(`${url}/own/one`);
    await backend.reached(1);
    request.destroy();
    await turns(50);
    expect(breaker.state).toBe('half-open');

    const next = call('/own/one');
    (await backend.reached(2)).answer('fine');

    expect((await next).status).toBe(200);
    expect(breaker.state).toBe('closed');
  });

  it('goes on with a probe that runs although its client has gone', async () => {
    const { resilience, url, call } = await startShop('never');
    const breaker = resilience.circuitBreaker('OwnController.one');
    freezeTime();
    breaker.trip();
    await vi.advanceTimersByTimeAsync(30_000);
    const request = send(`${url}/own/one`);
    const probe = await backend.reached(1);
    request.destroy();
    await turns(50);
    expect((await call('/own/one')).status).toBe(503);

    probe.answer('fine');
    await turns();

    expect(breaker.state).toBe('closed');
  });
});

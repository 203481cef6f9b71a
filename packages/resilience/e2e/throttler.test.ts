import { Controller, Get, Injectable, UseGuards, type CanActivate } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { CircuitBreaker, Retry, Timeout } from '@nestjs/resilience';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { beforeEach, expect, it } from 'vitest';
import { onBothAdapters } from './fixtures/application.js';
import { Backend } from './fixtures/backend.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
  backend.script((call) => call.fail(new Error('down')));
});

/** What an authentication package throws: no HttpException, but a status of the 4xx kind. */
class AuthenticationError extends Error {
  readonly status = 401;
}

@Injectable()
class RefusingGuard implements CanActivate {
  canActivate(): never {
    throw new AuthenticationError('no token');
  }
}

@Controller()
@Retry({ attempts: 4, backoff: { delay: 0 } })
@CircuitBreaker({ minimumCalls: 20 })
@Timeout('1m')
class QuotesController {
  @Get('quotes')
  quotes() {
    return backend.call();
  }

  @Get('guarded')
  @UseGuards(RefusingGuard)
  guarded() {
    return backend.call();
  }
}

onBothAdapters('With a throttler', (start) => {
  it('a request counts once however many attempts it takes, and its 429 meets no stage', async () => {
    const { call, resilience, events } = await start({
      controllers: [QuotesController],
      imports: [ThrottlerModule.forRoot([{ ttl: 60_000, limit: 2 }])],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    });

    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await call('/quotes')).status);

    expect(statuses).toEqual([500, 500, 429]);
    expect(backend.calls).toHaveLength(8);
    expect(resilience.circuitBreaker('QuotesController.quotes').stats.total).toBe(8);
    expect(events.filter(({ type }) => type === 'retry')).toHaveLength(6);
  });
});

onBothAdapters('With authentication', (start) => {
  it('a refused caller meets no stage, and an error of the 4xx kind in the handler is neither repeated nor counted', async () => {
    const { call, resilience } = await start({ controllers: [QuotesController] });
    expect((await call('/guarded')).status).toBeGreaterThanOrEqual(401);
    expect(backend.calls).toEqual([]);

    backend.script((running) => running.fail(new AuthenticationError('expired')));
    await call('/quotes');

    expect(backend.calls).toHaveLength(1);
    expect(resilience.circuitBreaker('QuotesController.quotes').stats.total).toBe(0);
  });
});

import { Controller, Get } from '@nestjs/common';
import {
  adaptive,
  Resilience,
  ResilienceService,
  Retry,
  Signal,
  Timeout,
  type AdaptiveTimeout,
} from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters, type Application } from './fixtures/application.js';
import { Backend, isPending } from './fixtures/backend.js';

let backend: Backend;
let limit: AdaptiveTimeout;

beforeEach(() => {
  backend = new Backend();
  limit = adaptive({ estimator: 'mean', samples: 2, factor: 2, initial: '1s', min: 10, max: '4s' });
});

@Controller()
class QuotesController {
  constructor(private readonly resilience: ResilienceService) {}

  @Get('quotes')
  @Resilience('carrier')
  quotes(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('prices')
  @Resilience('carrier')
  prices(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('policy')
  policy() {
    return this.resilience.preset('carrier').execute(({ signal }) => backend.call(signal));
  }

  @Get('own')
  @Retry({ attempts: 2, backoff: { delay: '100ms', jitter: 'none' } })
  @Timeout(adaptive({ initial: '1s', max: '3s' }))
  own(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

onBothAdapters('A timeout that learns', (start) => {
  const startQuotes = async () => {
    const app = await start({
      controllers: [QuotesController],
      options: { presets: { carrier: { timeout: limit } } },
    });
    freezeTime();

    return app;
  };
  const answered = async ({ call }: Application, path: string, afterMs: number): Promise<number> => {
    const answering = call(path);
    const asked = await backend.reached(backend.calls.length + 1);
    await vi.advanceTimersByTimeAsync(afterMs);
    asked.answer('fine');

    return (await answering).status;
  };

  it('is one for all that its preset is used for, and learns from each of them', async () => {
    const app = await startQuotes();
    expect(await answered(app, '/quotes', 60)).toBe(200);
    expect(await answered(app, '/prices', 140)).toBe(200);
    expect(limit.limitMs).toBe(280);
    expect(await answered(app, '/policy', 140)).toBe(200);
    expect(limit.limitMs).toBe(280);

    const hanging = app.call('/quotes');
    const last = await backend.reached(4);
    await vi.advanceTimersByTimeAsync(279);
    expect(await isPending(hanging)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    expect(await hanging).toMatchObject({ status: 504, body: { code: 'TIMEOUT' } });
    expect(last.state).toBe('cancelled');
    expect(limit.limitMs).toBeGreaterThan(280);
  });

  it('gives calls of twice the time theirs after a few that were cut', async () => {
    const app = await startQuotes();
    for (let call = 0; call < 4; call++) await answered(app, '/quotes', 100);
    const statuses: number[] = [];
    for (let call = 0; call < 4; call++) statuses.push(await answered(app, '/quotes', 201));

    expect(statuses).toEqual([504, 200, 200, 200]);
  });

  it('counts with its most in budgets(), whatever it has learned', async () => {
    const app = await startQuotes();
    await answered(app, '/quotes', 60);
    await answered(app, '/quotes', 60);

    expect(app.resilience.budgets()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ source: 'QuotesController.quotes', worstCaseMs: 4_000 }),
        expect.objectContaining({ source: 'QuotesController.own', worstCaseMs: 2 * 3_000 + 100 }),
      ]),
    );
  });
});

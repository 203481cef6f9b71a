import { channel } from 'node:diagnostics_channel';
import { Controller, Get, HttpException, Injectable, Post } from '@nestjs/common';
import {
  Budget,
  Bulkhead,
  CircuitBreaker,
  DeadlineExceededError,
  Fallback,
  Resilience,
  ResilienceService,
  Retry,
  RetryPolicy,
  Signal,
  Timeout,
  type ResiliencePolicy,
} from '@nestjs/resilience';
import { Subject } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { beforeClosing, freezeTime, onBothAdapters, type Application } from './fixtures/application.js';
import { Backend, DependencyError, isPending, turns } from './fixtures/backend.js';

let backend: Backend;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
});

@Injectable()
class CarrierClient {
  private readonly policy: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.policy = resilience.create({ timeout: '10s', circuitBreaker: { name: 'inner', minimumCalls: 1 } }, 'carrier');
  }

  quotes(): Promise<unknown> {
    return this.policy.execute(({ signal }) => backend.call(signal));
  }
}

const TWICE = { attempts: 2, backoff: { delay: 200, jitter: 'none' } } as const;

@Controller()
class QuotesController {
  constructor(private readonly carrier: CarrierClient) {}

  @Get('repeated')
  @Budget('1s')
  @Retry(TWICE)
  @Timeout(700)
  repeated(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('patient')
  @Budget('1s')
  @Retry({ attempts: 3, backoff: { delay: 300, factor: 2, jitter: 'none' } })
  patient() {
    return backend.call();
  }

  @Get('hinted')
  @Budget('1s')
  @Retry({ attempts: 3, backoff: { delay: 10, maxDelay: '10s', jitter: 'none' } })
  hinted() {
    return backend.call();
  }

  @Get('replaced')
  @Budget(100)
  @Fallback(() => backend.call())
  replaced(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('queued')
  @Budget(100)
  @Bulkhead({ name: 'pool', maxConcurrent: 1, maxQueue: 5 })
  queued() {
    return backend.call();
  }

  @Get('broken')
  @Budget(100)
  @CircuitBreaker({ name: 'outer', minimumCalls: 1 })
  broken() {
    return backend.call();
  }

  @Get('inherited')
  @Budget(100)
  inherited() {
    return this.carrier.quotes();
  }

  @Post('posted')
  @Resilience('budgeted')
  posted(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('stream')
  @Budget(100)
  stream() {
    return source;
  }

  @Get('growing')
  @Budget('1s')
  @Retry({ attempts: 5, backoff: { delay: 10, factor: 1, jitter: 'none' } })
  @Timeout((attempt) => attempt * 300)
  growing(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

let source = new Subject<unknown>();

@Controller('class')
@Budget(100)
class BudgetedController {
  @Get('own')
  @Budget(200)
  own(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('bare')
  @Budget()
  bare(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

const EXCEEDED = {
  statusCode: 504,
  error: 'Gateway Timeout',
  message: 'The operation timed out',
  code: 'DEADLINE_EXCEEDED',
};

onBothAdapters('A budget', (start) => {
  const startQuotes = async (): Promise<Application> => {
    source = new Subject();
    const app = await start({
      controllers: [QuotesController, BudgetedController],
      providers: [CarrierClient],
      options: { presets: { budgeted: { budget: 100 } } },
    });
    freezeTime();

    return app;
  };
  /** Passes the budget's time to the millisecond; the answer is pending until then. */
  const expectAnswerAt = async (answer: Promise<unknown>, milliseconds: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(milliseconds - 1);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
  };

  it('is for all attempts and the waits between them: the last attempt is cut at it, with 504', async () => {
    const { call, events } = await startQuotes();
    const answer = call('/repeated');
    await backend.reached(1);
    await expectAnswerAt(answer, 1_000);

    expect(await answer).toMatchObject({ status: 504, body: EXCEEDED });
    expect(backend.states).toEqual(['cancelled', 'cancelled']);
    expect(backend.calls.map(({ signal }) => String(signal?.reason))).toEqual([
      'ResilienceTimeoutError: Timed out after 700ms',
      'DeadlineExceededError: Not answered within the budget of 1000ms',
    ]);
    const own = { policy: 'QuotesController.repeated', source: 'QuotesController.repeated' };
    expect(events).toMatchObject([
      { type: 'timeout', timeoutMs: 700, ...own },
      { type: 'retry', attempt: 1, delayMs: 200, ...own },
      { type: 'deadline', budgetMs: 1_000, ...own },
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    [399, true],
    [401, false],
  ])('begins no wait that does not fit: a wait of 600 ms after %i ms of 1 s: %s', async (failsAt, fits) => {
    const { call, events } = await startQuotes();
    const answer = call('/patient');
    (await backend.reached(1)).fail(down);
    await turns();
    await vi.advanceTimersByTimeAsync(300);
    const second = await backend.reached(2);
    await vi.advanceTimersByTimeAsync(failsAt - 300);
    second.fail(new HttpException('the last real error', 502));

    expect(await isPending(answer)).toBe(fits);
    expect(events.map(({ type }) => type)).toEqual(fits ? ['retry', 'retry'] : ['retry']);
    if (fits) {
      await vi.advanceTimersByTimeAsync(600);
      (await backend.reached(3)).answer('fine');
    }
    expect((await answer).status).toBe(fits ? 200 : 502);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('begins no wait for a Retry-After that does not fit either', async () => {
    backend.script((call) => call.fail(new DependencyError(503, { 'retry-after': '1' })));
    const { call, events } = await startQuotes();

    expect((await call('/hinted')).status).toBe(500);
    expect(backend.calls).toHaveLength(1);
    expect(events).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not what the fallback answers in: its handler runs outside', async () => {
    const { call, events } = await startQuotes();
    const answer = call('/replaced');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);
    const fallback = await backend.reached(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await isPending(answer)).toBe(true);
    fallback.answer('flat');

    expect(await answer).toMatchObject({ status: 200, text: 'flat' });
    expect(backend.calls[0]?.state).toBe('cancelled');
    expect(events.map(({ type }) => type)).toEqual(['deadline', 'fallback']);
    expect(events[1]).toMatchObject({ error: expect.any(DeadlineExceededError) as unknown });
  });

  it('goes on in the queue of a bulkhead, and gives the place there back', async () => {
    const app = await startQuotes();
    const pool = app.resilience.bulkhead('pool');
    const running = app.call('/queued');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(60);
    const waiting = app.call('/queued');
    while (pool.queued === 0) await turns(1);

    await vi.advanceTimersByTimeAsync(40);
    expect((await running).status).toBe(504);
    await backend.reached(2);
    await expectAnswerAt(waiting, 60);

    expect(await waiting).toMatchObject({ status: 504, body: EXCEEDED });
    expect(pool).toMatchObject({ active: 0, queued: 0, abandoned: 2 });
    backend.calls.forEach((call) => call.answer('late'));
    await turns();
    expect(pool.abandoned).toBe(0);
  });

  it('that is over counts as a failure of the breaker inside', async () => {
    const app = await startQuotes();
    const answer = app.call('/broken');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);

    expect(await answer).toMatchObject({ status: 504, body: EXCEEDED });
    expect(app.resilience.circuitBreaker('outer').state).toBe('open');
  });

  it('bounds the policies of services, which know nothing of it, and their breaker counts', async () => {
    const app = await startQuotes();
    const answer = app.call('/inherited');
    const inner = await backend.reached(1);
    await expectAnswerAt(answer, 100);

    expect(await answer).toMatchObject({ status: 504, body: EXCEEDED });
    expect(inner.signal?.reason).toMatchObject({ policy: 'QuotesController.inherited', budgetMs: 100 });
    expect(app.resilience.circuitBreaker('inner').state).toBe('open');
  });

  it('of a preset holds for a POST too', async () => {
    const { call } = await startQuotes();
    const answer = call('/posted', { method: 'POST' });
    await backend.reached(1);
    await expectAnswerAt(answer, 100);

    expect(await answer).toMatchObject({ status: 504, body: EXCEEDED });
  });

  it('bounds an Observable answer until its completion', async () => {
    const { call } = await startQuotes();
    const answer = call('/stream');
    while (!source.observed) await turns(1);
    source.next('first');
    await expectAnswerAt(answer, 100);

    expect(await answer).toMatchObject({ status: 504, body: EXCEEDED });
    expect(source.observed).toBe(false);
  });

  it('ends a timeout that grows with each attempt', async () => {
    const { call, events } = await startQuotes();
    const answer = call('/growing');
    for (const [nth, limit] of [
      [1, 300],
      [2, 600],
    ] as const) {
      await backend.reached(nth);
      await vi.advanceTimersByTimeAsync(limit + 10);
    }
    await backend.reached(3);
    await expectAnswerAt(answer, 80);

    expect(await answer).toMatchObject({ status: 504, body: EXCEEDED });
    expect(events.map(({ type }) => type)).toEqual(['timeout', 'retry', 'timeout', 'retry', 'deadline']);
  });

  it('on the handler wins over that on the class, which a bare one takes', async () => {
    const { call } = await startQuotes();
    const own = call('/class/own');
    await backend.reached(1);
    await expectAnswerAt(own, 200);
    expect((await own).status).toBe(504);

    const bare = call('/class/bare');
    await backend.reached(2);
    await expectAnswerAt(bare, 100);
    expect((await bare).status).toBe(504);
  });

  it('that is met leaves nothing behind', async () => {
    const { call, events } = await startQuotes();
    const answer = call('/repeated');
    const running = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(699);
    running.answer('fine');

    expect((await answer).text).toBe('fine');
    expect(events).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(running.signal?.aborted).toBe(false);
  });

  it('is met or not by the clock, also when the event loop was held and no timer could tell', async () => {
    const { call } = await startQuotes();
    const answer = call('/replaced');
    const running = await backend.reached(1);
    vi.setSystemTime(Date.now() + 100);
    running.answer('too late');
    (await backend.reached(2)).answer('flat');

    expect((await answer).text).toBe('flat');
  });

  it('that is over is published on nestjs:resilience:deadline', async () => {
    const seen: unknown[] = [];
    const listener = (event: unknown): void => void seen.push(event);
    channel('nestjs:resilience:deadline').subscribe(listener);
    beforeClosing(() => channel('nestjs:resilience:deadline').unsubscribe(listener));
    const { call } = await startQuotes();
    const answer = call('/broken');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);
    await answer;

    const handler = 'QuotesController.broken';
    expect(seen).toEqual([{ type: 'deadline', policy: handler, source: handler, budgetMs: 100 }]);
  });
});

onBothAdapters('A policy object with a budget', (start) => {
  it('is named by create() and by its preset', async () => {
    const app = await start({ options: { presets: { carrier: { budget: 100 } } } });
    freezeTime();
    const policies = [app.resilience.preset('carrier'), app.resilience.create({ budget: 100 }, 'partner')];
    const outcomes = policies.map((policy) =>
      policy.execute(() => new Promise(() => {})).catch((error: unknown) => error),
    );
    await vi.advanceTimersByTimeAsync(100);

    expect(await Promise.all(outcomes)).toMatchObject([
      { code: 'DEADLINE_EXCEEDED', policy: 'carrier', budgetMs: 100 },
      { code: 'DEADLINE_EXCEEDED', policy: 'partner', budgetMs: 100 },
    ]);
    expect(app.events).toMatchObject([
      { type: 'deadline', policy: 'carrier' },
      { type: 'deadline', policy: 'partner' },
    ]);
  });

  it('starts nothing with less than minRemaining left', async () => {
    const app = await start({ options: { minRemaining: '20ms' } });
    freezeTime();
    const policy = app.resilience.create({ budget: 100 });
    const work = vi.fn();
    const outcome = policy
      .execute(async () => {
        await new Promise((resolve) => setTimeout(resolve, 81));
        return new RetryPolicy(1).execute(work);
      })
      .catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(81);

    expect(await outcome).toBeInstanceOf(DeadlineExceededError);
    expect(work).not.toHaveBeenCalled();
  });
});

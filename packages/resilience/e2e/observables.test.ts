import {
  Controller,
  Get,
  Injectable,
  Module,
  Post,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { Bulkhead, CircuitBreaker, Fallback, Retry, Signal, Timeout } from '@nestjs/resilience';
import {
  concat,
  defer,
  EMPTY,
  interval,
  map,
  NEVER,
  Observable,
  of,
  Subject,
  take,
  tap,
  throwError,
  toArray,
} from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters, type Application } from './fixtures/application.js';
import { isPending, turns, until } from './fixtures/backend.js';
import { send } from './fixtures/client.js';

/** One run of a handler: the stream that it returned, and what happened to it. */
class Run {
  readonly source = new Subject<unknown>();
  stops = 0;

  constructor(readonly signal: AbortSignal | undefined) {}

  readonly stream = new Observable<unknown>((subscriber) => {
    const subscription = this.source.subscribe(subscriber);
    return () => {
      this.stops += 1;
      subscription.unsubscribe();
    };
  });
}

let runs: Run[] = [];
let answer: (run: Run) => unknown;
const down = new Error('down');

beforeEach(() => {
  Witness.seen = [];
  runs = [];
  answer = (run) => run.stream;
});

function run(signal?: AbortSignal): unknown {
  const made = new Run(signal);
  runs.push(made);

  return answer(made);
}

async function reached(nth: number): Promise<Run> {
  while (runs.length < nth) await turns(1);
  await turns(); // until Nest has subscribed

  return runs[nth - 1] as Run;
}

@Injectable()
class Collect implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(
      toArray(),
      map((values) => ({ values })),
    );
  }
}

/** Writes down every value that leaves, of which Nest sends the last one. */
@Injectable()
class Witness implements NestInterceptor {
  static seen: unknown[] = [];

  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(tap((value) => Witness.seen.push(value)));
  }
}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: Witness }] })
class WitnessModule {}

@Controller()
class StreamsController {
  @Get('limited')
  @Timeout(100)
  limited(@Signal() signal: AbortSignal) {
    return run(signal);
  }

  @Get('retried')
  @Retry({ attempts: 2, backoff: { delay: 20, jitter: 'none' } })
  @Timeout(100)
  retried(@Signal() signal: AbortSignal) {
    return run(signal);
  }

  @Post('posted')
  @Retry({ attempts: 2 })
  posted() {
    return run();
  }

  @Get('replaced')
  @Timeout(100)
  @Fallback(() => of('stale', 'staler'))
  replaced() {
    return run();
  }

  @Get('emptied')
  @Fallback(() => EMPTY)
  emptied() {
    return run();
  }

  @Get('capped')
  @Bulkhead({ name: 'capped', maxConcurrent: 1, maxQueue: 1 })
  @CircuitBreaker({ name: 'capped' })
  @Timeout(100)
  capped() {
    return run();
  }

  @Get('collected')
  @UseInterceptors(Collect)
  @Timeout(100)
  collected() {
    return run();
  }

  @Get('plain')
  plain() {
    return run();
  }
}

onBothAdapters('An Observable answer', (start) => {
  const startStreams = async (): Promise<Application> => {
    const app = await start({ controllers: [StreamsController], before: [WitnessModule] });
    freezeTime();

    return app;
  };

  it('leaves with its completion, and is its last value', async () => {
    const app = await startStreams();
    const answering = app.call('/limited');
    const { source } = await reached(1);
    source.next('first');
    source.next('last');
    expect(await isPending(answering)).toBe(true);

    source.complete();

    expect(await answering).toMatchObject({ status: 200, text: 'last' });
  });

  it('is limited until its completion, whatever it has emitted', async () => {
    const app = await startStreams();
    const answering = app.call('/limited');
    const { source, signal } = await reached(1);
    source.next('first');

    await vi.advanceTimersByTimeAsync(99);
    expect(await isPending(answering)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    expect(await answering).toMatchObject({ status: 504, body: { code: 'TIMEOUT' } });
    expect(runs[0]?.stops).toBe(1);
    expect(signal?.reason).toMatchObject({ code: 'TIMEOUT' });
  });

  it('is limited although it goes on emitting: no value is a sign of life', async () => {
    answer = () => interval(30).pipe(take(1_000));
    const app = await start({ controllers: [StreamsController] });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
    const answering = app.call('/limited');
    await reached(1);

    await vi.advanceTimersByTimeAsync(100);

    expect((await answering).status).toBe(504);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is repeated when it fails, although it had emitted; nothing of the failed attempt is left', async () => {
    const app = await startStreams();
    const answering = app.call('/retried');
    const first = await reached(1);
    first.source.next('of the first attempt');
    first.source.error(down);
    await vi.advanceTimersByTimeAsync(20);
    const second = await reached(2);
    second.source.next('of the second attempt');
    second.source.complete();

    expect(await answering).toMatchObject({ status: 200, text: 'of the second attempt' });
    expect(Witness.seen).toEqual(['of the second attempt']);
    expect(runs.map(({ stops }) => stops)).toEqual([1, 1]);
  });

  it('is repeated when its time is up', async () => {
    const app = await startStreams();
    const answering = app.call('/retried');
    const first = await reached(1);
    first.source.next('too early to know');
    await vi.advanceTimersByTimeAsync(120);
    const second = await reached(2);
    expect(first.source.observed).toBe(false);
    expect(second.signal).not.toBe(first.signal);
    second.source.next('second');
    second.source.complete();

    expect((await answering).text).toBe('second');
  });

  it('of a POST is not repeated', async () => {
    const app = await startStreams();
    const answering = app.call('/posted', { method: 'POST' });
    (await reached(1)).source.error(down);

    expect((await answering).status).toBe(500);
    expect(runs).toHaveLength(1);
  });

  it('is replaced when it fails or is late, although it had emitted', async () => {
    const app = await startStreams();
    const failing = app.call('/replaced');
    const first = await reached(1);
    first.source.next('first');
    first.source.error(down);
    expect((await failing).text).toBe('staler');
    expect(Witness.seen).toEqual(['stale', 'staler']);

    const late = app.call('/replaced');
    const second = await reached(2);
    second.source.next('first');
    await vi.advanceTimersByTimeAsync(100);
    expect((await late).text).toBe('staler');
    expect(app.events.map(({ type }) => type)).toEqual(['fallback', 'timeout', 'fallback']);
  });

  it('is nothing of what had failed when the fallback has no value either', async () => {
    const app = await startStreams();
    const answering = app.call('/emptied');
    const { source } = await reached(1);
    source.next('first');
    source.error(down);

    expect((await answering).status).toBe(500);
    expect(Witness.seen).toEqual([]);
  });

  it('without a value is a success, which Nest answers with 500, and is not repeated', async () => {
    answer = () => EMPTY;
    const app = await startStreams();

    expect((await app.call('/retried')).status).toBe(500);
    expect(runs).toHaveLength(1);
    expect((await app.call('/plain')).status).toBe(500);
  });

  it('counts and holds its slot until its completion', async () => {
    const app = await startStreams();
    const bulkhead = app.resilience.bulkhead('capped');
    const breaker = app.resilience.circuitBreaker('capped');
    const answering = app.call('/capped');
    const { source } = await reached(1);
    source.next('first');
    expect(bulkhead.active).toBe(1);
    expect(breaker.stats.total).toBe(0);

    source.complete();
    await answering;

    expect(bulkhead.active).toBe(0);
    expect(breaker.stats).toEqual({ total: 1, failures: 0, failureRate: 0 });
  });

  it('gives its slot back at the limit, to the next in the queue; nothing is abandoned', async () => {
    const app = await startStreams();
    const bulkhead = app.resilience.bulkhead('capped');
    const late = app.call('/capped');
    await reached(1);
    await vi.advanceTimersByTimeAsync(60);
    const waiting = app.call('/capped');
    await until(() => bulkhead.queued === 1);

    await vi.advanceTimersByTimeAsync(40 - 1);
    expect(await isPending(late)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect((await late).status).toBe(504);
    const second = await reached(2);
    expect(bulkhead).toMatchObject({ active: 1, queued: 0, abandoned: 0 });
    second.source.next('second');
    second.source.complete();

    expect((await waiting).text).toBe('second');
    expect(app.events.map(({ type }) => type)).toEqual(['timeout']);
  });

  it('is stopped when its client leaves, and then counts neither way', async () => {
    const app = await startStreams();
    const request = send(`${app.url}/capped`);
    await reached(1);

    request.destroy();

    await until(() => runs[0]?.stops === 1);
    expect(app.resilience.bulkhead('capped').active).toBe(0);
    expect(app.resilience.circuitBreaker('capped').stats.total).toBe(0);
  });

  it('of several values reaches inner interceptors as it is, and outer ones at its completion', async () => {
    answer = () => of(1, 2, 3);
    const app = await startStreams();

    expect((await app.call('/collected')).body).toEqual({ values: [1, 2, 3] });
  });

  it('may be deferred, asynchronous or wrapped in a promise', async () => {
    const app = await startStreams();
    for (const made of [
      () => defer(() => Promise.resolve('fine')),
      () => Promise.resolve(of('fine')),
      () => concat(of('not yet'), of('fine')),
    ]) {
      answer = made;
      expect((await app.call('/retried')).text).toBe('fine');
    }
  });

  it('that never does anything is 504 after all attempts, with no timer left', async () => {
    answer = () => NEVER;
    const app = await startStreams();
    const answering = app.call('/retried');
    await reached(1);
    await vi.advanceTimersByTimeAsync(100 + 20);
    await reached(2);
    await vi.advanceTimersByTimeAsync(100);

    expect((await answering).status).toBe(504);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that fails at once is 500 without a stage', async () => {
    answer = () => throwError(() => down);
    const app = await startStreams();

    expect((await app.call('/plain')).status).toBe(500);
    expect((await app.call('/limited')).status).toBe(500);
  });
});

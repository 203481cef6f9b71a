import { AsyncLocalStorage } from 'node:async_hooks';
import { connect } from 'node:net';
import { Controller, HttpException, Sse, type MessageEvent } from '@nestjs/common';
import {
  Bulkhead,
  CircuitBreaker,
  ClientDisconnectedError,
  Fallback,
  Retry,
  Signal,
  Timeout,
} from '@nestjs/resilience';
import { concat, NEVER, Observable, of, Subject, throwError } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters, type Application } from './fixtures/application.js';
import { isPending, turns, until } from './fixtures/backend.js';
import type { OpenAnswer } from './fixtures/client.js';

/** One run of the handler, fed by the test. */
class Feed {
  readonly events = new Subject<MessageEvent>();
  stops = 0;

  constructor(readonly signal: AbortSignal) {}

  readonly stream = new Observable<MessageEvent>((subscriber) => {
    const subscription = this.events.subscribe(subscriber);
    return () => {
      this.stops += 1;
      subscription.unsubscribe();
    };
  });
}

let feeds: Feed[] = [];
let open: (signal: AbortSignal) => Observable<MessageEvent> | Promise<Observable<MessageEvent>>;
const storage = new AsyncLocalStorage<string>();

beforeEach(() => {
  feeds = [];
  open = (signal) => {
    const feed = new Feed(signal);
    feeds.push(feed);
    return feed.stream;
  };
});

@Controller()
class FeedController {
  @Sse('limited')
  @Timeout(100)
  limited(@Signal() signal: AbortSignal) {
    return open(signal);
  }

  @Sse('retried')
  @Retry({ attempts: 3, backoff: { delay: 50, jitter: 'none', factor: 1 } })
  @Timeout(100)
  retried(@Signal() signal: AbortSignal) {
    return open(signal);
  }

  @Sse('replaced')
  @Timeout(100)
  @Fallback(() => of({ data: 'stale' }, { data: 'news' }))
  replaced(@Signal() signal: AbortSignal) {
    return open(signal);
  }

  @Sse('capped')
  @Bulkhead({ maxConcurrent: 1, name: 'feeds' })
  capped(@Signal() signal: AbortSignal) {
    return open(signal);
  }

  @Sse('queued')
  @Bulkhead({ maxConcurrent: 1, maxQueue: 1, name: 'queued' })
  queued(@Signal() signal: AbortSignal) {
    return open(signal);
  }

  @Sse('broken')
  @CircuitBreaker({ name: 'feed', openDuration: '30s' })
  @Timeout(100)
  broken(@Signal() signal: AbortSignal) {
    return open(signal);
  }
}

onBothAdapters('Server-sent events', (start) => {
  /** Opens the stream; Nest sends its head one macrotask after the handler, whose clock is ours. */
  const openStream = async ({ open }: Application, path: string, headers = {}): Promise<OpenAnswer> => {
    const opening = open(path, { headers });
    while (await isPending(opening)) await vi.advanceTimersByTimeAsync(1);

    return opening;
  };
  const startFeeds = async () => {
    const app = await start({
      controllers: [FeedController],
      middleware: (consumer) =>
        consumer
          .apply((request: { headers: Record<string, string> }, _response: unknown, next: () => void) =>
            storage.run(request.headers['x-user'] ?? 'nobody', next),
          )
          .forRoutes(FeedController),
    });
    freezeTime();

    return app;
  };

  it('arrive as they are emitted; the limit covers the time to the first one only', async () => {
    const app = await startFeeds();
    const answer = await openStream(app, '/limited');
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/event-stream');

    feeds[0]?.events.next({ data: 'first' });
    await answer.until('data: first');
    await vi.advanceTimersByTimeAsync(60_000);
    feeds[0]?.events.next({ data: 'second' });
    await answer.until('data: second');
    feeds[0]?.events.complete();

    expect(await answer.closed).toBe('complete');
    expect(answer.text).not.toContain('event: error');
    expect(feeds[0]?.stops).toBe(1);
    expect(app.events).toEqual([]);
  });

  it('end with an error event when none comes in time, to the millisecond', async () => {
    const app = await startFeeds();
    const opening = app.open('/limited');
    while (feeds.length === 0) await turns();

    await vi.advanceTimersByTimeAsync(99);
    const answer = await opening;
    expect(answer.status).toBe(200);
    await turns();
    expect(answer.text).not.toContain('event: error');
    await vi.advanceTimersByTimeAsync(1);

    expect(await answer.closed).toBe('complete');
    expect(answer.text).toContain('event: error\n');
    expect(answer.text).toContain('data: The operation timed out\n');
    expect(feeds[0]?.stops).toBe(1);
    expect(feeds[0]?.signal.reason).toMatchObject({ code: 'TIMEOUT' });
    expect(app.events.map(({ type }) => type)).toEqual(['timeout']);
  });

  it('are taken from the next attempt when one fails before its first event, also after the head has left', async () => {
    const app = await startFeeds();
    const answer = await openStream(app, '/retried');

    feeds[0]?.events.error(new Error('down'));
    await vi.advanceTimersByTimeAsync(50); // the backoff
    expect(feeds).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(100); // the limit of the second attempt
    await vi.advanceTimersByTimeAsync(50);
    expect(feeds).toHaveLength(3);
    feeds[2]?.events.next({ data: 'third attempt' });
    feeds[2]?.events.complete();

    expect(await answer.closed).toBe('complete');
    expect(answer.text).toContain('data: third attempt');
    expect(answer.text).not.toContain('event: error');
    expect(feeds.map(({ stops }) => stops)).toEqual([1, 1, 1]);
    expect(app.events.map(({ type }) => type)).toEqual(['retry', 'timeout', 'retry']);
  });

  it('are neither repeated nor replaced once one was sent: the failure is an error event', async () => {
    const app = await startFeeds();
    for (const path of ['/retried', '/replaced']) {
      feeds = [];
      const answer = await openStream(app, path);
      feeds[0]?.events.next({ data: 'first' });
      await answer.until('data: first');

      feeds[0]?.events.error(new HttpException('the feed is gone', 502));
      await vi.advanceTimersByTimeAsync(1_000);

      expect(await answer.closed).toBe('complete');
      expect(answer.text).toContain('event: error\n');
      expect(answer.text).toContain('data: the feed is gone\n');
      expect(answer.text).not.toContain('stale');
      expect(feeds).toHaveLength(1);
    }
    expect(app.events).toEqual([]);
  });

  it('of a fallback are sent in place of a first one that is late', async () => {
    const app = await startFeeds();
    const answer = await openStream(app, '/replaced');

    await vi.advanceTimersByTimeAsync(100);

    expect(await answer.closed).toBe('complete');
    expect(answer.text).toMatch(/data: stale\n[^]*data: news\n/);
    expect(answer.text).not.toContain('event: error');
    expect(app.events.map(({ type }) => type)).toEqual(['timeout', 'fallback']);
  });

  it('of a fallback are sent in place of a stream that fails at once', async () => {
    open = () => throwError(() => new Error('down'));
    const app = await startFeeds();
    const answer = await openStream(app, '/replaced');

    expect(await answer.closed).toBe('complete');
    expect(answer.text).toMatch(/data: stale\n[^]*data: news\n/);
  });

  it('are neither repeated nor replaced for a client that has left', async () => {
    const app = await startFeeds();
    for (const path of ['/replaced', '/retried']) {
      feeds = [];
      const answer = await openStream(app, path);

      answer.leave();
      await until(() => feeds[0]?.stops === 1);
      await vi.advanceTimersByTimeAsync(1_000);

      expect(feeds).toHaveLength(1);
      expect(feeds[0]?.signal.reason).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' });
      expect(feeds[0]?.stops).toBe(1);
    }
    expect(app.events.map(({ type }) => type)).toEqual(['client-gone', 'client-gone']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('hold their slot until the stream is over', async () => {
    const app = await startFeeds();
    const bulkhead = app.resilience.bulkhead('feeds');
    const answer = await openStream(app, '/capped');
    feeds[0]?.events.next({ data: 'first' });
    await answer.until('first');
    expect(bulkhead.active).toBe(1);

    feeds[0]?.events.complete();
    await answer.closed;

    expect(bulkhead).toMatchObject({ active: 0, abandoned: 0 });
  });

  it('give their slot back, and stop their source once, when the client leaves', async () => {
    const app = await startFeeds();
    const bulkhead = app.resilience.bulkhead('feeds');
    for (const path of ['before', 'after the first event']) {
      feeds = [];
      const answer = await openStream(app, '/capped');
      if (path !== 'before') {
        feeds[0]?.events.next({ data: 'first' });
        await answer.until('first');
      }

      answer.leave();
      await until(() => bulkhead.active === 0);

      expect(feeds[0]?.stops).toBe(1);
      expect(feeds[0]?.signal.aborted).toBe(true);
      expect(bulkhead.abandoned).toBe(0);
    }
    expect(app.log.errors).toEqual([]);
  });

  it('give their slot back after a HEAD', async () => {
    const app = await startFeeds();
    const bulkhead = app.resilience.bulkhead('feeds');
    const answering = app.call('/capped', { method: 'HEAD' });
    while (feeds.length === 0) await turns();
    await turns();
    await vi.advanceTimersByTimeAsync(1);

    expect((await answering).status).toBe(200);
    await until(() => bulkhead.active === 0);
    expect(feeds[0]?.stops).toBe(1);
  });

  it('leave the queue when the client leaves it: the handler never runs', async () => {
    const app = await startFeeds();
    const bulkhead = app.resilience.bulkhead('queued');
    const first = await openStream(app, '/queued');
    const waiting = await openStream(app, '/queued');
    expect(bulkhead).toMatchObject({ active: 1, queued: 1 });

    waiting.leave();
    await until(() => bulkhead.queued === 0);
    first.leave();
    await until(() => bulkhead.active === 0);

    await turns();
    expect(feeds).toHaveLength(1);
  });

  it('give their slot back when they wait behind another answer on a connection that closes', async () => {
    const app = await startFeeds();
    const { port, hostname } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    const head = 'HTTP/1.1\r\nHost: test\r\n\r\n';
    socket.write(`GET /limited ${head}GET /capped ${head}`);
    await until(() => feeds.length === 2);
    expect(app.resilience.bulkhead('feeds').active).toBe(1);

    socket.destroy();

    await until(() => app.resilience.bulkhead('feeds').active === 0);
    expect(feeds.map(({ stops }) => stops)).toEqual([1, 1]);
    expect(feeds.map(({ signal }) => signal.reason as unknown)).toEqual([
      expect.any(ClientDisconnectedError),
      expect.any(ClientDisconnectedError),
    ]);
    await turns();
    expect(app.events.map(({ type }) => type)).toEqual(['client-gone', 'client-gone']);
    expect(app.log.errors).toEqual([]);
  });

  it('are refused with a real 503 while no head has left: bulkhead', async () => {
    const app = await startFeeds();
    const first = await openStream(app, '/capped');

    const refused = await app.call('/capped');

    expect(refused.status).toBe(503);
    expect(refused.body).toEqual({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'Server is at capacity',
      code: 'BULKHEAD_FULL',
    });
    first.leave();
    await until(() => app.resilience.bulkhead('feeds').active === 0);
  });

  it('are refused with a real 503 while no head has left: breaker, with Retry-After', async () => {
    const app = await startFeeds();
    app.resilience.circuitBreaker('feed').trip();

    const refused = await app.call('/broken');

    expect(refused).toMatchObject({ status: 503, body: { code: 'CIRCUIT_OPEN' } });
    expect(refused.headers['retry-after']).toBe('30');
  });

  it('count in a breaker when they are over, and not when the client leaves', async () => {
    const app = await startFeeds();
    const breaker = app.resilience.circuitBreaker('feed');

    const complete = await openStream(app, '/broken');
    feeds[0]?.events.next({ data: 'first' });
    await complete.until('first');
    expect(breaker.stats.total).toBe(0);
    feeds[0]?.events.complete();
    await complete.closed;
    expect(breaker.stats).toMatchObject({ total: 1, failures: 0 });

    const failing = await openStream(app, '/broken');
    feeds[1]?.events.next({ data: 'first' });
    feeds[1]?.events.error(new Error('down'));
    await failing.closed;
    expect(breaker.stats).toMatchObject({ total: 2, failures: 1 });

    const left = await openStream(app, '/broken');
    left.leave();
    await until(() => feeds[2]?.stops === 1);
    expect(breaker.stats.total).toBe(2);

    const late = await openStream(app, '/broken');
    await vi.advanceTimersByTimeAsync(100);
    await late.closed;
    expect(breaker.stats).toMatchObject({ total: 3, failures: 2 });
  });

  it('may come from a promise of a stream, whose time counts too', async () => {
    open = async (signal) => {
      const feed = new Feed(signal);
      feeds.push(feed);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return concat(of({ data: 'too late' }), NEVER);
    };
    const app = await startFeeds();
    const opening = app.open('/limited');
    while (feeds.length === 0) await turns();

    await vi.advanceTimersByTimeAsync(101);
    const answer = await opening;

    expect(await answer.closed).toBe('complete');
    expect(answer.text).toContain('data: The operation timed out\n');
    expect(answer.text).not.toContain('too late');
  });

  it('keep the async context of their request in every attempt', async () => {
    const seen: unknown[] = [];
    open = () => {
      seen.push(storage.getStore());
      return seen.length < 3 ? throwError(() => new Error('down')) : of({ data: 'fine' });
    };
    const app = await startFeeds();
    const answer = await openStream(app, '/retried', { 'x-user': 'ann' });

    await storage.run('somebody else', () => vi.advanceTimersByTimeAsync(200));

    expect(await answer.closed).toBe('complete');
    expect(seen).toEqual(['ann', 'ann', 'ann']);
  });

  it('complete without any event as an empty stream', async () => {
    open = () => of();
    const app = await startFeeds();
    const answer = await openStream(app, '/retried');

    expect(await answer.closed).toBe('complete');
    expect(answer.text.trim()).toBe('');
  });
});

import { subscribe as listenOn, unsubscribe as stopListening } from 'node:diagnostics_channel';
import {
  Controller,
  Get,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import {
  CircuitOpenError,
  Fallback,
  Resilience,
  ResilienceEvents,
  ResilienceService,
  Retry,
  RetryPolicy,
  Signal,
  Timeout,
  type ResilienceEvent,
} from '@nestjs/resilience';
import { filter, map } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { beforeClosing, freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend } from './fixtures/backend.js';

let backend: Backend;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
});

@Controller()
class QuotesController {
  @Get('quotes')
  @Resilience('carrier')
  @Fallback(() => 'flat rate', { handleIf: (error) => error instanceof CircuitOpenError })
  getQuotes(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('own')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @Timeout(100)
  own() {
    return backend.call();
  }
}

const options = {
  presets: {
    carrier: {
      timeout: 100,
      retry: { attempts: 2, backoff: { delay: 50, jitter: 'none' } },
      circuitBreaker: { minimumCalls: 2, openDuration: '30s' },
    },
  },
} as const;

/** Writes down what is published on a channel during a test. */
function record(type: string): ResilienceEvent[] {
  const messages: ResilienceEvent[] = [];
  const listener = (message: unknown): void => void messages.push(message as ResilienceEvent);
  listenOn(`nestjs:resilience:${type}`, listener);
  beforeClosing(() => stopListening(`nestjs:resilience:${type}`, listener));

  return messages;
}

onBothAdapters('The events of a request', (start) => {
  const startQuotes = () => start({ controllers: [QuotesController], options });

  it('are named after the handler, those of the breaker after the preset, all with the handler for a source', async () => {
    const { call, events } = await startQuotes();
    freezeTime();
    const answer = call('/quotes');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(150);
    await backend.reached(2);
    await vi.advanceTimersByTimeAsync(100);
    expect((await answer).status).toBe(504);
    await call('/quotes');
    await vi.advanceTimersByTimeAsync(30_000);
    backend.script((running) => running.answer('live'));
    await call('/quotes');

    const source = 'QuotesController.getQuotes';
    const timeout = { type: 'timeout', policy: source, source, timeoutMs: 100 };
    const error = expect.objectContaining({ code: 'TIMEOUT', policy: source }) as unknown;
    expect(events).toEqual([
      timeout,
      { type: 'retry', policy: source, source, attempt: 1, delayMs: 50, error },
      timeout,
      { type: 'circuit-open', policy: 'carrier', source, from: 'closed', to: 'open' },
      { type: 'circuit-rejected', policy: 'carrier', source, retryAfterMs: 30_000 },
      { type: 'fallback', policy: source, source, error: new CircuitOpenError('carrier', 30_000) },
      { type: 'circuit-half-open', policy: 'carrier', source, from: 'open', to: 'half-open' },
      { type: 'circuit-closed', policy: 'carrier', source, from: 'half-open', to: 'closed' },
    ]);
  });

  it('of trip() and reset() have no source', async () => {
    const { resilience, events } = await startQuotes();

    resilience.circuitBreaker('carrier').trip();
    resilience.circuitBreaker('carrier').reset();

    expect(events).toEqual([
      { type: 'circuit-open', policy: 'carrier', from: 'closed', to: 'open' },
      { type: 'circuit-closed', policy: 'carrier', from: 'open', to: 'closed' },
    ]);
  });

  it('are published on a channel each, once, before events$ has them', async () => {
    const order: string[] = [];
    const { call, app } = await startQuotes();
    const messages = record('retry');
    app.get(ResilienceEvents).events$.subscribe(() => order.push(`events$, after ${messages.length} on the channel`));
    backend.script((running, nth) => (nth === 1 ? running.fail(down) : running.answer('fine')));

    await call('/own');

    expect(messages).toEqual([
      {
        type: 'retry',
        policy: 'QuotesController.own',
        source: 'QuotesController.own',
        attempt: 1,
        delayMs: 0,
        error: down,
      },
    ]);
    expect(order).toEqual(['events$, after 1 on the channel']);
  });

  it('of policies made with new are on the channels, and not among those of the application', async () => {
    const { events } = await startQuotes();
    const messages = record('retry');

    await expect(
      new RetryPolicy({ attempts: 2, backoff: { delay: 0 } }).execute(() => Promise.reject(down)),
    ).rejects.toBe(down);

    expect(messages).toHaveLength(1);
    expect(events).toEqual([]);
  });

  it('of presets and of create() are named after them, with the source that execute() gives', async () => {
    const { resilience, events } = await startQuotes();
    const policy = resilience.create({ retry: { attempts: 2, backoff: { delay: 0 } } }, 'mail');

    await expect(policy.execute(() => Promise.reject(down), { source: 'Mailer.send' })).rejects.toBe(down);
    await expect(
      resilience.create({ retry: { attempts: 2, backoff: { delay: 0 } } }).execute(() => Promise.reject(down)),
    ).rejects.toBe(down);

    expect(events).toMatchObject([
      { type: 'retry', policy: 'mail', source: 'Mailer.send' },
      { type: 'retry', policy: 'anonymous', source: undefined },
    ]);
  });
});

onBothAdapters('A subscriber that throws', (start) => {
  it.each([
    ['itself', (events: ResilienceEvents, fail: () => never) => events.events$.subscribe(fail)],
    [
      'behind operators',
      (events: ResilienceEvents, fail: () => never) =>
        events.events$
          .pipe(
            filter((event) => event.type === 'retry'),
            map((event) => event.policy),
          )
          .subscribe(fail),
    ],
  ])('changes no answer, and is reported once: %s', async (_, subscribe) => {
    const { call, app, log, events } = await start({ controllers: [QuotesController], options });
    subscribe(app.get(ResilienceEvents), () => {
      throw new Error('subscriber broke');
    });
    backend.script((running, nth) => (nth % 2 === 1 ? running.fail(down) : running.answer('fine')));

    for (let n = 0; n < 3; n++) expect((await call('/own')).text).toBe('fine');

    expect(events).toHaveLength(3);
    expect(log.errors).toEqual([expect.stringContaining('subscriber')]);
  });
});

const reported: string[] = [];

@Injectable()
class Shutdown implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(
    private readonly resilience: ResilienceService,
    private readonly events: ResilienceEvents,
  ) {}

  onModuleInit(): void {
    this.events.events$.subscribe({
      next: ({ type }) => reported.push(type),
      complete: () => reported.push('complete'),
    });
  }

  beforeApplicationShutdown(): void {
    this.resilience.circuitBreaker('carrier').trip();
  }

  onApplicationShutdown(): void {
    reported.push('shut down');
  }
}

onBothAdapters('At shutdown', (start) => {
  it('events are complete, those of the last work included; policies work on, their channels too', async () => {
    reported.length = 0;
    const { app, resilience } = await start({ controllers: [QuotesController], providers: [Shutdown], options });
    const breaker = resilience.circuitBreaker('carrier');
    const messages = record('circuit-rejected');

    await app.close();

    expect(reported.filter((entry) => entry !== 'shut down')).toEqual(['circuit-open', 'complete']);
    await expect(breaker.execute(() => 1)).rejects.toBeInstanceOf(CircuitOpenError);
    expect(messages).toHaveLength(1);
    expect(reported).toHaveLength(3);
  });
});

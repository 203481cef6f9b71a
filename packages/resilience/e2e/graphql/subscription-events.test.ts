import { Injectable } from '@nestjs/common';
import { Field, ObjectType, Query, Resolver, Subscription } from '@nestjs/graphql';
import {
  Bulkhead,
  CircuitBreaker,
  CircuitOpenError,
  Fallback,
  fanOut,
  optional,
  required,
  ResilienceContext,
  Retry,
  Signal,
  Timeout,
  type ResilienceModuleOptions,
} from '@nestjs/resilience';
import { Observable } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { turns, until } from '../fixtures/backend.js';
import { onEachServer } from '../fixtures/graphql.js';
import { extensionsOf, subscribe, subscribing, valuesOf } from '../fixtures/subscriptions.js';

/** What a handler opens, fed by the test; as a broker's client does, it knows when nobody reads it any more. */
class Feed implements AsyncIterableIterator<unknown> {
  closed = 0;
  private readonly waiting: ((result: IteratorResult<unknown>) => void)[] = [];
  private readonly sent: IteratorResult<unknown>[] = [];
  private failure: unknown = undefined;

  constructor(
    readonly field: string,
    readonly signal: AbortSignal | undefined,
  ) {}

  send(value: unknown): void {
    this.settle({ done: false, value: { [this.field]: value } });
  }

  end(): void {
    this.settle({ done: true, value: undefined });
  }

  fail(error: unknown): void {
    this.failure = error;
    this.end();
  }

  async next(): Promise<IteratorResult<unknown>> {
    const result = this.sent.shift() ?? (await new Promise<IteratorResult<unknown>>((go) => this.waiting.push(go)));
    if (this.failure !== undefined) throw this.failure;
    return result;
  }

  return(): Promise<IteratorResult<unknown>> {
    this.closed += 1;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private settle(result: IteratorResult<unknown>): void {
    const waiting = this.waiting.shift();
    if (waiting === undefined) this.sent.push(result);
    else waiting(result);
  }
}

let feeds: Feed[];
let running: number;
let emit: (() => void) | undefined;
const down = new Error('down');

beforeEach(() => {
  vi.clearAllMocks();
  feeds = [];
  running = 0;
  emit = undefined;
});

function open(field: string, signal?: AbortSignal): Promise<Feed> {
  const feed = new Feed(field, signal);
  feeds.push(feed);
  return Promise.resolve(feed);
}

async function fed(nth = 1): Promise<Feed> {
  await until(() => feeds.length >= nth);
  return feeds[nth - 1] as Feed;
}

const delay = (signal: AbortSignal | undefined) =>
  new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error));
  });

@ObjectType()
class Page {
  @Field(() => String)
  title!: string;

  @Field(() => String, { nullable: true })
  reviews!: string | null;

  @Field(() => [String])
  similar!: string[];
}

const missing = (): never => {
  throw down;
};

const pageOf = (title: string) =>
  fanOut({
    title: required(() => title, { timeout: '1s' }),
    reviews: optional(missing, { timeout: '1s', fallback: null }),
    similar: optional((): string[] => missing(), { timeout: '1s', fallback: [] }),
  });

@Injectable()
@Resolver()
class ParcelsResolver {
  constructor(private readonly context: ResilienceContext) {}

  @Query(() => String)
  health() {
    return 'fine';
  }

  @Subscription(() => String)
  @Timeout('1s')
  @CircuitBreaker({ name: 'broker', minimumCalls: 2 })
  @Bulkhead({ name: 'openings', maxConcurrent: 1 })
  moved(@Signal() signal: AbortSignal) {
    return open('moved', signal);
  }

  @Subscription(() => String)
  @Timeout('1s')
  @Retry({ attempts: 2, backoff: { delay: '1s', jitter: 'none' }, idempotent: true })
  again(@Signal() signal: AbortSignal) {
    return open('again', signal);
  }

  @Subscription(() => String)
  @Timeout('1s')
  @Fallback(async function* () {
    await Promise.resolve();
    yield { replaced: 'unknown' };
  })
  replaced(@Signal() signal: AbortSignal) {
    return open('replaced', signal);
  }

  @Subscription(() => String)
  @Timeout('1s')
  @Fallback(() => 'no stream')
  misreplaced() {
    return open('misreplaced');
  }

  @Subscription(() => String)
  @Timeout('1s')
  async *generated(@Signal() signal: AbortSignal | undefined) {
    running += 1;
    try {
      const { signal: around } = this.context;
      yield { generated: String(around === signal), emitted: typeof around };
      await delay(undefined);
    } finally {
      running -= 1;
    }
  }

  @Subscription(() => String)
  @Timeout('1s')
  emitted() {
    return new Observable((subscriber) => {
      emit = () => {
        subscriber.next(this.generated(undefined));
        subscriber.complete();
      };
    });
  }

  @Subscription(() => String)
  @Timeout('1s')
  @Bulkhead({ name: 'generators', maxConcurrent: 1 })
  async *silent(@Signal() signal: AbortSignal) {
    running += 1;
    try {
      await delay(signal);
      yield { silent: 'never' };
    } finally {
      running -= 1;
    }
  }

  @Subscription(() => String)
  @Timeout('1s')
  @Bulkhead({ name: 'deaf', maxConcurrent: 1 })
  async *deaf() {
    await open('deaf').then((feed) => feed.next());
    yield { deaf: 'late' };
  }

  @Subscription(() => String, { filter: (event: { filtered: string }) => event.filtered !== 'secret' })
  @Timeout('1s')
  filtered() {
    return open('filtered');
  }

  @Subscription(() => Page)
  @Timeout('1s')
  pages() {
    return open('pages');
  }

  @Subscription(() => Page)
  plainPages() {
    return open('plainPages');
  }

  @Subscription(() => String)
  plain() {
    return open('plain');
  }
}

onEachServer('The events of a GraphQL subscription', (start, server) => {
  const onError = vi.fn();
  const startParcels = (options?: ResilienceModuleOptions) =>
    subscribing(start, server)([ParcelsResolver], options, { onError });

  it('are waited for until the limit, to the millisecond; what was opened is closed once', async () => {
    const app = await startParcels();
    freezeTime();
    const { results, over } = subscribe(app, 'subscription { moved }');
    const feed = await fed();
    const timers = vi.getTimerCount();
    await vi.advanceTimersByTimeAsync(999);
    await turns();
    expect(results).toEqual([]);
    expect(feed.closed).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await over;

    expect(extensionsOf(results)).toEqual([{ code: 'TIMEOUT', httpStatus: 504 }]);
    expect(feed.closed).toBe(1);
    expect(feed.signal?.reason).toMatchObject({ code: 'TIMEOUT' });
    expect(app.resilience.circuitBreaker('broker').stats).toMatchObject({ total: 1, failures: 1 });
    await until(() => app.resilience.bulkhead('openings').abandoned === 0);
    expect(vi.getTimerCount()).toBe(timers - 1);
  });

  it('have no limit after the first one, hold no slot, and have counted', async () => {
    const app = await startParcels();
    freezeTime();
    const { results, over } = subscribe(app, 'subscription { moved }');
    const feed = await fed();
    expect(app.resilience.bulkhead('openings').active).toBe(1);
    expect(app.resilience.circuitBreaker('broker').stats.total).toBe(0);

    feed.send('packed');
    await until(() => results.length === 1);
    expect(app.resilience.bulkhead('openings').active).toBe(0);
    expect(app.resilience.circuitBreaker('broker').stats).toMatchObject({ total: 1, failures: 0 });

    await vi.advanceTimersByTimeAsync(60_000);
    feed.send('sent');
    feed.end();
    await over;
    expect(valuesOf(results)).toEqual(['packed', 'sent']);
    expect(feed.signal?.aborted).toBe(false);
    expect(app.events).toEqual([]);
    expect(feed.closed).toBeLessThanOrEqual(1); // Mercurius closes also what has ended.
  });

  it('may be none, which is no failure', async () => {
    const app = await startParcels();
    const { results, over } = subscribe(app, 'subscription { moved }');
    (await fed()).end();
    await over;

    expect(results).toEqual([]);
    expect(app.resilience.circuitBreaker('broker').stats).toMatchObject({ total: 1, failures: 0 });
  });

  it('are taken from the next attempt when none comes, where that is declared safe', async () => {
    const app = await startParcels();
    freezeTime();
    const { results, over } = subscribe(app, 'subscription { again }');
    const first = await fed();
    await vi.advanceTimersByTimeAsync(2_000);
    const second = await fed(2);
    first.send('from the one that was given up');
    second.send('sent');
    second.end();
    await over;

    expect(valuesOf(results)).toEqual(['sent']);
    expect(first.closed).toBe(1);
    expect(second.closed).toBeLessThanOrEqual(1);
    expect(app.events.map(({ type }) => type)).toEqual(['timeout', 'retry']);
  });

  it('are neither repeated nor replaced once there was one', async () => {
    const app = await startParcels();
    for (const [nth, field] of ['again', 'replaced'].entries()) {
      const { results, over } = subscribe(app, `subscription { ${field} }`);
      const feed = await fed(nth + 1);
      feed.send('first');
      await until(() => results.length === 1);
      feed.fail(down);
      await over;

      expect(valuesOf(results)).toEqual(['first']);
      expect(results.at(-1)?.errors?.[0]?.message).toBe('down');
      expect(feeds).toHaveLength(nth + 1);
    }
    expect(app.events).toEqual([]);
  });

  it('are replaced by those of a fallback when there was none', async () => {
    const app = await startParcels();
    const { results, over } = subscribe(app, 'subscription { replaced }');
    const feed = await fed();
    feed.fail(down);
    await over;

    expect(valuesOf(results)).toEqual(['unknown']);
    expect(app.events.map(({ type }) => type)).toEqual(['fallback']);
  });

  it('fail when what replaces them is no stream', async () => {
    const app = await startParcels();
    const { results, over } = subscribe(app, 'subscription { misreplaced }');
    (await fed()).fail(down);
    await over;

    expect(results[0]?.errors?.[0]?.message).toBe('Subscription field must return Async Iterable.');
  });

  it('that nobody waits for any more are closed once, and are no failure', async () => {
    const app = await startParcels();
    const { unsubscribe, client } = subscribe(app, 'subscription { moved }');
    const feed = await fed();
    await turns();
    unsubscribe();
    await until(() => feed.closed === 1);
    await client.dispose();
    await turns();

    expect(feed.closed).toBe(1);
    expect(feed.signal?.reason).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' });
    expect(app.resilience.circuitBreaker('broker').stats.total).toBe(0);
    expect(app.resilience.bulkhead('openings').active).toBe(0);
    expect(app.events.map(({ type }) => type)).toContain('client-gone');
    expect(app.log.errors).toEqual([]);
  });

  it.each(['before the first', 'after it'])('are closed once when the connection is lost: %s', async (when) => {
    const app = await startParcels();
    const { client, results } = subscribe(app, 'subscription { moved }');
    const feed = await fed();
    if (when === 'after it') {
      feed.send('packed');
      await until(() => results.length === 1);
    }
    await turns();
    client.terminate();
    await until(() => feed.closed === 1);
    await turns();

    expect(feed.closed).toBe(1);
    expect(app.resilience.bulkhead('openings').active).toBe(0);
    expect(app.log.errors).toEqual([]);
  });

  it('are given up once, whoever notices first that the client has left', async () => {
    const app = await startParcels({ abortOnDisconnect: 'always' });
    const { client } = subscribe(app, 'subscription { silent }');
    await until(() => running === 1);
    client.terminate();
    await until(() => running === 0);
    await turns();

    expect(app.events.filter(({ type }) => type === 'client-gone')).toHaveLength(1);
    expect(app.resilience.bulkhead('generators')).toMatchObject({ active: 0, abandoned: 0 });
    expect(onError).not.toHaveBeenCalled();
    expect(app.log.errors).toEqual([]);
  });

  it('of an async generator are limited too, which runs in its attempt', async () => {
    const app = await startParcels();
    freezeTime();
    const generated = subscribe(app, 'subscription { generated }');
    await until(() => generated.results.length === 1);
    expect(valuesOf(generated.results)).toEqual(['true']);

    const silent = subscribe(app, 'subscription { silent }');
    await until(() => running === 2);
    await vi.advanceTimersByTimeAsync(1_000);
    await silent.over;

    expect(extensionsOf(silent.results)).toEqual([{ code: 'TIMEOUT', httpStatus: 504 }]);
    await until(() => running === 1);
    await until(() => app.resilience.bulkhead('generators').abandoned === 0);
  });

  it('of an async generator run in its attempt wherever that comes from', async () => {
    const app = await startParcels();
    const { results } = subscribe(app, 'subscription { emitted }');
    await until(() => emit !== undefined);
    emit?.();
    await until(() => results.length === 1);

    expect(valuesOf(results)).toEqual(['object']);
  });

  it('of a generator that does not listen to its signal count as abandoned until it has ended', async () => {
    const app = await startParcels();
    freezeTime();
    const { over } = subscribe(app, 'subscription { deaf }');
    const feed = await fed();
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
    expect(app.resilience.bulkhead('deaf')).toMatchObject({ active: 0, abandoned: 1 });

    feed.send('late');
    await until(() => app.resilience.bulkhead('deaf').abandoned === 0);
  });

  it('may be filtered: what nobody is sent was a sign of life', async () => {
    const app = await startParcels();
    freezeTime();
    const { results, over } = subscribe(app, 'subscription { filtered }');
    const feed = await fed();
    feed.send('secret');
    await turns();
    await vi.advanceTimersByTimeAsync(60_000);
    feed.send('public');
    feed.end();
    await over;

    expect(valuesOf(results)).toEqual(['public']);
  });

  it.each(['pages', 'plainPages'])('may be partial responses: %s', async (field) => {
    const app = await startParcels();
    const { results, over } = subscribe(app, `subscription { page: ${field} { title reviews similar } }`);
    const feed = await fed();
    feed.send(await pageOf('Cat food'));
    feed.end();
    await over;

    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({
      data: { page: { title: 'Cat food', reviews: null, similar: [] } },
      errors: [
        {
          message: 'reviews unavailable',
          path: ['page', 'reviews'],
          extensions: { code: 'SECTION_FAILED', section: 'reviews', reason: 'upstream_error' },
        },
      ],
    });
  });

  it('whose source fails with the error of a policy tell clients what they may know', async () => {
    const app = await startParcels();
    const { results, over } = subscribe(app, 'subscription { plain }');
    const feed = await fed();
    feed.send('one');
    await until(() => results.length === 1);
    feed.fail(new CircuitOpenError('secret', 5_000));
    await over;

    expect(extensionsOf(results)).toEqual([{ code: 'CIRCUIT_OPEN', httpStatus: 503, retryAfter: 5 }]);
    expect(JSON.stringify(results)).not.toContain('secret');
  });
});

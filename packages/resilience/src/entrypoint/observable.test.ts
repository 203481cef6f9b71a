import '../install.js';
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import {
  BudgetPolicy,
  BulkheadFullError,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  CircuitOpenError,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
  type AttemptContext,
} from 'holdfast';
import { currentScope } from 'holdfast/binding';
import { EventRecorder } from 'holdfast/testing';
import { concat, EMPTY, firstValueFrom, interval, NEVER, Observable, of, Subject, take, throwError, timer } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

/** Writes down what a stream tells its subscriber. */
function listen<T>(stream: Observable<T>) {
  const heard: unknown[] = [];
  const subscription = stream.subscribe({
    next: (value) => heard.push(value),
    error: (error: unknown) => heard.push({ error }),
    complete: () => heard.push('complete'),
  });

  return { heard, subscription };
}

/** A source that counts how often it is subscribed to and torn down. */
class Source<T> {
  subscribed = 0;
  stopped = 0;

  constructor(private readonly inner: Observable<T>) {}

  readonly open = (): Observable<T> =>
    new Observable((subscriber) => {
      this.subscribed += 1;
      const subscription = this.inner.subscribe(subscriber);
      return () => {
        this.stopped += 1;
        subscription.unsubscribe();
      };
    });
}

const lost = new Error('connection lost');
const pass = ResiliencePolicy.wrap();
const retry = (attempts = 3) => new RetryPolicy({ attempts, backoff: { delay: 100, factor: 1 } });
const settle = () => vi.advanceTimersByTimeAsync(0);

describe('executeObservable', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  });

  afterEach(() => {
    expect(vi.getTimerCount(), 'timers left behind').toBe(0);
    vi.useRealTimers();
  });

  describe('a stream that is run', () => {
    it('does nothing until it is subscribed to, and runs anew for each subscriber', () => {
      const factory = vi.fn(() => of(1));

      const stream = pass.executeObservable(factory);
      expect(factory).not.toHaveBeenCalled();

      expect(listen(stream).heard).toEqual([1, 'complete']);
      expect(listen(stream).heard).toEqual([1, 'complete']);
      expect(factory).toHaveBeenCalledTimes(2);
    });

    it.each([
      [{ sources: 'Job.run' }, 'sources: unknown option. Did you mean "source"?'],
      [{ budget: '1s' }, 'budget: not an option of executeObservable(). Put a BudgetPolicy around the policy instead.'],
      [new AbortController().signal, 'options: got an AbortSignal. Pass it as { signal }.'],
      [{ signal: 5 }, 'signal: expected an AbortSignal, got 5.'],
    ])('refuses the options %o when it is subscribed to', (options, message) => {
      const factory = vi.fn(() => of(1));
      const { heard } = listen(retry().executeObservable(factory, options as never));

      expect(heard).toEqual([{ error: new TypeError(message) }]);
      expect(factory).not.toHaveBeenCalled();
    });

    it('refuses a stream in place of the factory, without another attempt', () => {
      const { heard } = listen(retry().executeObservable(of(1) as never));

      expect(heard).toEqual([{ error: new TypeError('factory: expected a function, got an object.') }]);
    });

    it('passes values on as they arrive', () => {
      const source = new Subject<number>();
      const { heard } = listen(pass.executeObservable(() => source));

      source.next(1);
      expect(heard).toEqual([1]);
      source.next(2);
      source.complete();
      expect(heard).toEqual([1, 2, 'complete']);
    });

    it('passes on every value of a source that emits while it is subscribed to', () => {
      expect(listen(retry().executeObservable(() => of(1, 2, 3))).heard).toEqual([1, 2, 3, 'complete']);
    });

    it('gives the factory the signal and the number of the attempt', () => {
      const seen: AttemptContext[] = [];

      listen(
        pass.executeObservable((context) => {
          seen.push(context);
          return EMPTY;
        }),
      );

      expect(seen.map(({ attempt }) => attempt)).toEqual([1]);
      expect(seen[0]?.signal.aborted).toBe(false);
    });

    it('accepts a promise from the factory and emits its value once', async () => {
      const { heard } = listen(retry().executeObservable(() => Promise.resolve('late')));

      expect(heard).toEqual([]);
      await settle();
      expect(heard).toEqual(['late', 'complete']);
    });

    it('accepts a plain value from the factory and emits it once', () => {
      expect(listen(retry().executeObservable(() => 'plain')).heard).toEqual(['plain', 'complete']);
    });

    it('takes what the factory throws for the failure of the attempt', async () => {
      const factory = vi.fn((): Observable<string> => {
        if (factory.mock.calls.length === 1) throw lost;
        return of('second');
      });
      const { heard } = listen(retry().executeObservable(factory));

      await vi.advanceTimersByTimeAsync(100);
      expect(heard).toEqual(['second', 'complete']);
    });

    it('takes completion without a value for a success', () => {
      const breaker = new CircuitBreakerPolicy();
      const factory = vi.fn(() => EMPTY);

      const { heard } = listen(ResiliencePolicy.wrap(retry(), breaker).executeObservable(factory));

      expect(heard).toEqual(['complete']);
      expect(factory).toHaveBeenCalledTimes(1);
      expect(breaker.stats).toEqual({ total: 1, failures: 0, failureRate: 0 });
    });
  });

  describe('retries', () => {
    it('calls the factory and subscribes anew for each attempt', async () => {
      const source = new Source(throwError(() => lost));
      const attempts: number[] = [];
      const { heard } = listen(
        retry(3).executeObservable(({ attempt }) => {
          attempts.push(attempt);
          return source.open();
        }),
      );

      await vi.advanceTimersByTimeAsync(99);
      expect(attempts).toEqual([1]);
      await vi.advanceTimersByTimeAsync(1);
      expect(attempts).toEqual([1, 2]);
      expect(heard).toEqual([]);
      await vi.advanceTimersByTimeAsync(100);
      expect(attempts).toEqual([1, 2, 3]);
      expect(heard).toEqual([{ error: lost }]);
      expect(source).toMatchObject({ subscribed: 3, stopped: 3 });
    });

    it('opens a scope of its own for each attempt', async () => {
      const scopes: (number | undefined)[] = [];
      const signals: (AbortSignal | undefined)[] = [];
      const stream = ResiliencePolicy.wrap(retry(2), new TimeoutPolicy('1s')).executeObservable(
        () =>
          new Observable((subscriber) => {
            scopes.push(currentScope()?.attempt);
            signals.push(currentScope()?.signal);
            subscriber.error(lost);
          }),
      );

      const { heard } = listen(stream);
      await vi.advanceTimersByTimeAsync(100);
      expect(heard).toEqual([{ error: lost }]);
      expect(scopes).toEqual([1, 2]);
      expect(signals[0]).not.toBe(signals[1]);
    });

    it('ends with the first value: a later error reaches the subscriber', async () => {
      const factory = vi.fn(() =>
        concat(
          of(1),
          throwError(() => lost),
        ),
      );
      const fallback = vi.fn();
      const policy = ResiliencePolicy.wrap(new FallbackPolicy(fallback), retry());

      const { heard } = listen(policy.executeObservable(factory));
      await vi.advanceTimersByTimeAsync(1_000);

      expect(heard).toEqual([1, { error: lost }]);
      expect(factory).toHaveBeenCalledTimes(1);
      expect(fallback).not.toHaveBeenCalled();
    });

    it('keeps the async context of the subscriber in every attempt', async () => {
      const storage = new AsyncLocalStorage<string>();
      const seen: unknown[] = [];
      const failing = new Subject<never>();

      storage.run('subscriber', () =>
        listen(
          retry(2).executeObservable(({ attempt }) => {
            seen.push(storage.getStore());
            return attempt === 1 ? failing : EMPTY;
          }),
        ),
      );
      storage.run('somebody else', () => failing.error(lost));
      await vi.advanceTimersByTimeAsync(100);

      expect(seen).toEqual(['subscriber', 'subscriber']);
    });
  });

  describe('time limits', () => {
    it('limit the time to the first value, to the millisecond', async () => {
      const policy = new TimeoutPolicy({ name: 'quotes', timeout: 100 });
      const inTime = listen(policy.executeObservable(() => timer(99)));
      const never = listen(policy.executeObservable(() => NEVER));

      await vi.advanceTimersByTimeAsync(99);
      expect(inTime.heard).toEqual([0, 'complete']);
      expect(never.heard).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(never.heard).toEqual([{ error: new ResilienceTimeoutError(100, 'quotes') }]);
    });

    it('end with the first value: a stream that goes on is left alone', async () => {
      const events = new EventRecorder();
      const { heard } = listen(new TimeoutPolicy(100).executeObservable(() => interval(60).pipe(take(5))));

      await vi.advanceTimersByTimeAsync(300);

      expect(heard).toEqual([0, 1, 2, 3, 4, 'complete']);
      expect(events.types).toEqual([]);
      events.stop();
    });

    it('leave a stream alone whose first value was there although it pauses for longer afterwards', async () => {
      const source = new Subject<number>();
      const { heard, subscription } = listen(new TimeoutPolicy(100).executeObservable(() => source));

      await vi.advanceTimersByTimeAsync(99);
      source.next(1);
      await vi.advanceTimersByTimeAsync(60_000);
      source.next(2);

      expect(heard).toEqual([1, 2]);
      subscription.unsubscribe();
    });

    it('unsubscribe from the source before the error leaves', async () => {
      const order: string[] = [];
      const stream = new TimeoutPolicy(100).executeObservable(
        () => new Observable<never>(() => () => order.push('unsubscribed')),
      );
      stream.subscribe({ error: (error: unknown) => order.push((error as Error).name) });

      await vi.advanceTimersByTimeAsync(100);

      expect(order).toEqual(['unsubscribed', 'ResilienceTimeoutError']);
    });

    it('abort the signal of the attempt with the error that leaves', async () => {
      let signal: AbortSignal | undefined;
      const { heard } = listen(
        new TimeoutPolicy(100).executeObservable((context) => {
          signal = context.signal;
          return NEVER;
        }),
      );

      await vi.advanceTimersByTimeAsync(100);

      expect(heard).toEqual([{ error: signal?.reason }]);
      expect(signal?.reason).toBeInstanceOf(ResilienceTimeoutError);
    });

    it('apply to each attempt', async () => {
      const source = new Source(NEVER);
      const { heard } = listen(ResiliencePolicy.wrap(retry(2), new TimeoutPolicy(50)).executeObservable(source.open));

      await vi.advanceTimersByTimeAsync(50 + 100 + 49);
      expect(source).toMatchObject({ subscribed: 2, stopped: 1 });
      await vi.advanceTimersByTimeAsync(1);
      expect(heard).toEqual([{ error: expect.any(ResilienceTimeoutError) }]);
      expect(source.stopped).toBe(2);
    });

    it('drop what a promise of the factory still brings', async () => {
      const { heard } = listen(
        new TimeoutPolicy(100).executeObservable(() => new Promise((resolve) => setTimeout(resolve, 150, 'late'))),
      );

      await vi.advanceTimersByTimeAsync(150);
      expect(heard).toEqual([{ error: expect.any(ResilienceTimeoutError) }]);
    });
  });

  it('bound what is used inside of a budget until the first value, and not afterwards', async () => {
    const values = new Subject<number>();
    let look: () => Promise<unknown> = () => Promise.reject(lost);
    const { heard } = listen(
      new BudgetPolicy(100).executeObservable(() => {
        look = AsyncResource.bind(() => retry(1).execute(({ deadline }) => deadline));
        return values;
      }),
    );
    expect(await look()).toMatchObject({ budgetMs: 100 });
    values.next(1);
    await vi.advanceTimersByTimeAsync(100);

    expect(await look()).toBeUndefined();
    expect(heard).toEqual([1]);
  });

  describe('a subscriber that leaves', () => {
    it('stops the source, once, and aborts the signal with an AbortError', () => {
      const source = new Source(NEVER);
      let signal: AbortSignal | undefined;
      const { heard, subscription } = listen(
        retry().executeObservable((context) => {
          signal = context.signal;
          return source.open();
        }),
      );

      subscription.unsubscribe();
      subscription.unsubscribe();

      expect(source.stopped).toBe(1);
      expect(signal?.reason).toMatchObject({ name: 'AbortError' });
      expect(heard).toEqual([]);
    });

    it('aborts the signal in mid-stream too', () => {
      const source = new Subject<number>();
      let signal: AbortSignal | undefined;
      const { heard, subscription } = listen(
        pass.executeObservable((context) => {
          signal = context.signal;
          return source;
        }),
      );

      source.next(1);
      expect(signal?.aborted).toBe(false);
      subscription.unsubscribe();

      expect(signal?.aborted).toBe(true);
      expect(source.observed).toBe(false);
      expect(heard).toEqual([1]);
    });

    it('aborts nothing once the stream has settled', () => {
      let signal: AbortSignal | undefined;
      const { subscription } = listen(
        pass.executeObservable((context) => {
          signal = context.signal;
          return of(1);
        }),
      );

      subscription.unsubscribe();

      expect(signal?.aborted).toBe(false);
    });

    it('during a synchronous emission, having what it needs, stops the source there', async () => {
      const emitted: number[] = [];
      const source = new Observable<number>((subscriber) => {
        for (let n = 0; n < 1_000 && !subscriber.closed; n++) {
          emitted.push(n);
          subscriber.next(n);
        }
      });

      await expect(firstValueFrom(retry().executeObservable(() => source))).resolves.toBe(0);

      expect(emitted).toEqual([0]);
    });

    it('ends the wait between two attempts', async () => {
      const factory = vi.fn(() => throwError(() => lost));
      const { subscription } = listen(retry().executeObservable(factory));

      subscription.unsubscribe();
      expect(vi.getTimerCount()).toBe(0);
      await vi.advanceTimersByTimeAsync(1_000);

      expect(factory).toHaveBeenCalledTimes(1);
    });

    it('leaves the queue of a bulkhead at once, and its work never runs', async () => {
      const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 5 });
      const first = listen(bulkhead.executeObservable(() => NEVER));
      const factory = vi.fn(() => of(1));
      const waiting = listen(bulkhead.executeObservable(factory));
      expect(bulkhead.queued).toBe(1);

      waiting.subscription.unsubscribe();
      expect(bulkhead.queued).toBe(0);
      first.subscription.unsubscribe();
      await settle();

      expect(bulkhead.active).toBe(0);
      expect(factory).not.toHaveBeenCalled();
    });

    it('between the grant of a slot and its turn gives the slot back', async () => {
      const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 5 });
      const first = listen(bulkhead.executeObservable(() => NEVER));
      const factory = vi.fn(() => of(1));
      const waiting = listen(bulkhead.executeObservable(factory));

      first.subscription.unsubscribe();
      expect(bulkhead).toMatchObject({ active: 1, queued: 0 });
      waiting.subscription.unsubscribe();
      await settle();

      expect(bulkhead.active).toBe(0);
      expect(factory).not.toHaveBeenCalled();
    });

    it('gives the token back that it waited for', () => {
      const limit = new OutboundRateLimitPolicy({ limit: 1, interval: '1s', maxWait: '5s' });
      listen(limit.executeObservable(() => of(1)));
      const waiting = listen(limit.executeObservable(() => of(2)));

      waiting.subscription.unsubscribe();
      vi.advanceTimersByTime(1_000);

      expect(limit.available).toBe(1);
    });

    it('counts neither way in a breaker', () => {
      const breaker = new CircuitBreakerPolicy();
      const { subscription } = listen(breaker.executeObservable(() => NEVER));

      subscription.unsubscribe();

      expect(breaker.stats.total).toBe(0);
    });
  });

  describe('slots and outcomes', () => {
    it('a slot is held until the stream completes, not only until its first value', () => {
      const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
      const source = new Subject<number>();
      listen(bulkhead.executeObservable(() => source));

      source.next(1);
      expect(bulkhead.active).toBe(1);
      expect(listen(bulkhead.executeObservable(() => of(2))).heard).toEqual([
        { error: new BulkheadFullError('bulkhead', 'full') },
      ]);
      source.complete();
      expect(bulkhead.active).toBe(0);
    });

    it('a slot is free again once the stream has failed', () => {
      const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
      const source = new Subject<number>();
      listen(bulkhead.executeObservable(() => source));

      source.error(lost);

      expect(bulkhead.active).toBe(0);
    });

    it('a slot is free at the limit, since unsubscribing has ended the work', async () => {
      const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
      const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), bulkhead);
      listen(policy.executeObservable(() => NEVER));

      await vi.advanceTimersByTimeAsync(100);

      expect(bulkhead).toMatchObject({ active: 0, abandoned: 0 });
    });

    it('a slot is granted in the async context of the one who waited for it', async () => {
      const storage = new AsyncLocalStorage<string>();
      const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
      const first = new Subject<never>();
      listen(bulkhead.executeObservable(() => first));
      let seen: unknown;
      storage.run('waiting', () =>
        listen(
          bulkhead.executeObservable(() => {
            seen = storage.getStore();
            return EMPTY;
          }),
        ),
      );

      storage.run('first', () => first.complete());
      await settle();

      expect(seen).toBe('waiting');
    });

    it('a breaker hears of success at completion', () => {
      const breaker = new CircuitBreakerPolicy();
      const source = new Subject<number>();
      listen(breaker.executeObservable(() => source));

      source.next(1);
      expect(breaker.stats.total).toBe(0);
      source.complete();
      expect(breaker.stats).toEqual({ total: 1, failures: 0, failureRate: 0 });
    });

    it('a breaker hears of the failure of a stream that had begun', () => {
      const breaker = new CircuitBreakerPolicy();
      listen(
        breaker.executeObservable(() =>
          concat(
            of(1),
            throwError(() => lost),
          ),
        ),
      );

      expect(breaker.stats).toEqual({ total: 1, failures: 1, failureRate: 100 });
    });

    it('an open breaker refuses without calling the factory', () => {
      const breaker = new CircuitBreakerPolicy({ name: 'carrier', openDuration: '5s' });
      breaker.trip();
      const factory = vi.fn(() => of(1));

      expect(listen(breaker.executeObservable(factory)).heard).toEqual([
        { error: new CircuitOpenError('carrier', 5_000) },
      ]);
      expect(factory).not.toHaveBeenCalled();
    });
  });

  describe('fallbacks', () => {
    it('forward all values of an Observable', () => {
      const policy = new FallbackPolicy(() => of('a', 'b'));

      expect(listen(policy.executeObservable(() => throwError(() => lost))).heard).toEqual(['a', 'b', 'complete']);
    });

    it.each([
      ['a promise', () => Promise.resolve('stale')],
      ['a plain value', () => 'stale'],
    ])('emit %s once', async (_, handler) => {
      const { heard } = listen(new FallbackPolicy(handler).executeObservable(() => throwError(() => lost)));

      await settle();
      expect(heard).toEqual(['stale', 'complete']);
    });

    it('answer for a stream whose first value is late', async () => {
      const policy = ResiliencePolicy.wrap(new FallbackPolicy(() => of('stale')), new TimeoutPolicy(100));
      const { heard } = listen(policy.executeObservable(() => NEVER));

      await vi.advanceTimersByTimeAsync(100);

      expect(heard).toEqual(['stale', 'complete']);
    });

    it('pass their own error on', () => {
      const broken = new Error('fallback broke');
      const policy = new FallbackPolicy(() => {
        throw broken;
      });

      expect(listen(policy.executeObservable(() => throwError(() => lost))).heard).toEqual([{ error: broken }]);
    });

    it('are told no more than the error and the attempt', () => {
      const handler = vi.fn<(...given: unknown[]) => Observable<never>>(() => EMPTY);
      listen(new FallbackPolicy(handler).executeObservable(() => throwError(() => lost)));

      expect(handler.mock.calls).toEqual([[lost, expect.objectContaining({ attempt: 1 })]]);
    });

    it('are unsubscribed from when the subscriber leaves', () => {
      const source = new Source(NEVER);
      const { subscription } = listen(new FallbackPolicy(source.open).executeObservable(() => throwError(() => lost)));

      subscription.unsubscribe();

      expect(source).toMatchObject({ subscribed: 1, stopped: 1 });
    });

    it('that are Observables are values like others for execute()', async () => {
      const stale = of('stale');

      await expect(new FallbackPolicy(() => stale).execute(() => Promise.reject(lost))).resolves.toBe(stale);
    });
  });

  describe('signals from outside', () => {
    it('that have aborted already end the stream with their reason, and nothing is called', () => {
      const factory = vi.fn(() => of(1));
      const reason = new Error('no longer wanted');

      const { heard } = listen(retry().executeObservable(factory, { signal: AbortSignal.abort(reason) }));

      expect(heard).toEqual([{ error: reason }]);
      expect((heard[0] as { error: unknown }).error).toBe(reason);
      expect(factory).not.toHaveBeenCalled();
    });

    it('end a stream in the middle, and stop its source', () => {
      const caller = new AbortController();
      const source = new Source(NEVER);
      const reason = new Error('no longer wanted');
      const { heard } = listen(pass.executeObservable(() => concat(of(1), source.open()), { signal: caller.signal }));

      caller.abort(reason);

      expect(heard).toEqual([1, { error: reason }]);
      expect(source.stopped).toBe(1);
    });

    it('of the attempt around end a stream inside', async () => {
      let heard: unknown[] = [];
      const outer = new TimeoutPolicy({ name: 'outer', timeout: 100 }).execute(() => {
        ({ heard } = listen(retry().executeObservable(() => NEVER)));
        return new Promise(() => {});
      });

      await Promise.all([expect(outer).rejects.toThrow(ResilienceTimeoutError), vi.advanceTimersByTimeAsync(100)]);

      expect(heard).toEqual([{ error: new ResilienceTimeoutError(100, 'outer') }]);
    });

    it('carry no listener any more once the stream has settled', () => {
      const caller = new AbortController();
      const add = vi.spyOn(caller.signal, 'addEventListener');
      const remove = vi.spyOn(caller.signal, 'removeEventListener');

      for (let n = 0; n < 100; n++) listen(retry().executeObservable(() => of(n), { signal: caller.signal }));

      expect(add.mock.calls.length).toBeGreaterThan(0);
      expect(remove.mock.calls.length).toBe(add.mock.calls.length);
    });
  });

  it('labels its events with the source', async () => {
    const policy = retry(2);
    const events = new EventRecorder(policy);
    listen(policy.executeObservable(() => throwError(() => lost), { source: 'Quotes.stream' }));

    await vi.advanceTimersByTimeAsync(100);

    expect(events.events).toEqual([
      { type: 'retry', policy: 'retry', source: 'Quotes.stream', attempt: 1, delayMs: 100, error: lost },
    ]);
  });
});

describe('a factory that makes its own caller leave', () => {
  it('has its Observable never subscribed to', () => {
    const caller = new AbortController();
    let subscribed = 0;
    const source = new Observable(() => void (subscribed += 1));
    const { heard } = listen(
      new RetryPolicy(2).executeObservable(
        () => {
          caller.abort('left');
          return source;
        },
        { signal: caller.signal },
      ),
    );

    expect(heard).toEqual([{ error: 'left' }]);
    expect(subscribed).toBe(0);
  });
});

describe('a query that the factory has returned', () => {
  it('does not run any more when the call is given up in the same tick', async () => {
    const caller = new AbortController();
    const ran = vi.fn();
    // oxlint-disable-next-line unicorn/no-thenable
    const query = { then: ran } as unknown as PromiseLike<string>;
    const policy = new TimeoutPolicy('1s');
    const { heard } = listen(policy.executeObservable(() => query, { signal: caller.signal }));
    caller.abort('left');
    await Promise.resolve();

    expect(heard).toEqual([{ error: 'left' }]);
    expect(ran).not.toHaveBeenCalled();
  });
});

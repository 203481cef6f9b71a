import { Logger } from '@nestjs/common';
import { CircuitBreakerPolicy, RetryPolicy, type ResilienceEvent } from 'holdfast';
import { filter, firstValueFrom, map, Subject, take, tap, toArray } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ResilienceEvents } from './resilience.events.js';

let events: ResilienceEvents;
let breaker: CircuitBreakerPolicy;

beforeEach(() => {
  events = new ResilienceEvents();
  breaker = events.attach(new CircuitBreakerPolicy({ name: 'carrier' }));
});

const boom = new Error('boom');

function fail(): never {
  throw boom;
}

function spyOnReports() {
  return vi.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
}

describe('events$', () => {
  it('has the events of attached policies only', () => {
    const seen: ResilienceEvent[] = [];
    events.events$.subscribe((event) => seen.push(event));

    new CircuitBreakerPolicy({ name: 'stranger' }).trip();
    breaker.trip();

    expect(seen).toEqual([{ type: 'circuit-open', policy: 'carrier', from: 'closed', to: 'open' }]);
  });

  it('has each event once for each policy that it is attached to, whatever wraps share it', async () => {
    const retry = events.attach(new RetryPolicy({ attempts: 2, backoff: () => 0 }));
    const seen: string[] = [];
    events.events$.subscribe(({ type }) => seen.push(type));

    await expect(RetryPolicy.wrap(retry, breaker).execute(fail)).rejects.toBe(boom);

    expect(seen).toEqual(['retry']);
  });

  it('stops when a subscriber leaves', () => {
    const seen: string[] = [];
    const subscription = events.events$.subscribe(({ type }) => seen.push(type));
    breaker.trip();
    subscription.unsubscribe();
    breaker.reset();

    expect(seen).toEqual(['circuit-open']);
  });

  it('completes when the application has shut down, and policies keep working', () => {
    const complete = vi.fn();
    const next = vi.fn();
    events.events$.subscribe({ next, complete });

    events.onApplicationShutdown();
    breaker.trip();

    expect(complete).toHaveBeenCalledOnce();
    expect(next).not.toHaveBeenCalled();
    expect(breaker.state).toBe('open');
  });

  it('tells late subscribers that it has completed', () => {
    const complete = vi.fn();
    events.onApplicationShutdown();
    events.events$.subscribe({ complete });

    expect(complete).toHaveBeenCalledOnce();
  });
});

describe('a subscriber that throws', () => {
  it('harms neither the policy nor other subscribers, goes on receiving, and is reported once', () => {
    const report = spyOnReports();
    const next = vi.fn(fail);
    const other = vi.fn();
    events.events$.subscribe(next);
    events.events$.subscribe(other);

    breaker.trip();
    breaker.reset();

    expect(next).toHaveBeenCalledTimes(2);
    expect(other).toHaveBeenCalledTimes(2);
    expect(report).toHaveBeenCalledOnce();
    expect(report).toHaveBeenCalledWith('A subscriber of resilience events failed (reported once)', boom.stack);
  });

  it('is reported once for each subscriber', () => {
    const report = spyOnReports();
    events.events$.subscribe(fail);
    events.events$.subscribe(fail);
    breaker.trip();

    expect(report).toHaveBeenCalledTimes(2);
  });

  it.each([
    ['an observer', (source: ResilienceEvents['events$']) => source.subscribe({ next: fail })],
    ['a pipe', (source: ResilienceEvents['events$']) => source.pipe(map((event) => event.type)).subscribe(fail)],
    [
      'a longer pipe',
      (source: ResilienceEvents['events$']) =>
        source
          .pipe(
            filter(() => true),
            tap(() => {}),
            map((event) => event.type),
          )
          .subscribe({ next: fail }),
    ],
    [
      'a pipe in two parts',
      (source: ResilienceEvents['events$']) => source.pipe(take(5)).pipe(take(5)).subscribe(fail),
    ],
  ])('is isolated behind %s', (_case, subscribe) => {
    const report = spyOnReports();
    subscribe(events.events$);

    expect(() => breaker.trip()).not.toThrow();
    expect(report).toHaveBeenCalledOnce();
  });

  it('is reported for what its promise rejects with', async () => {
    const report = spyOnReports();
    events.events$.subscribe(async () => {
      await Promise.resolve();
      fail();
    });
    breaker.trip();

    await vi.waitFor(() => expect(report).toHaveBeenCalledOnce());
  });

  it('may throw at completion', () => {
    const report = spyOnReports();
    events.events$.subscribe({ complete: fail });

    expect(() => events.onApplicationShutdown()).not.toThrow();
    expect(report).toHaveBeenCalledOnce();
  });

  it('may throw something that is no error', () => {
    const report = spyOnReports();
    events.events$.subscribe(() => {
      throw 'a string' as unknown;
    });
    breaker.trip();

    expect(report).toHaveBeenCalledWith(expect.any(String), 'a string');
  });
});

describe('the rest of RxJS', () => {
  it('hands the error of an operator to the subscriber', () => {
    const error = vi.fn();
    events.events$.pipe(map(fail)).subscribe({ error });
    breaker.trip();

    expect(error).toHaveBeenCalledWith(boom);
  });

  it('takes values and promises out', async () => {
    const first = firstValueFrom(events.events$.pipe(map(({ type }) => type)));
    const both = firstValueFrom(events.events$.pipe(take(2), toArray()));
    breaker.trip();
    breaker.reset();

    expect(await first).toBe('circuit-open');
    expect(await both).toHaveLength(2);
  });

  it('rejects forEach() with what its callback throws, once', async () => {
    const next = vi.fn(fail);
    const done = events.events$.forEach(next);
    breaker.trip();
    breaker.reset();

    await expect(done).rejects.toBe(boom);
    expect(next).toHaveBeenCalledOnce();
  });

  it('leaves for good when an operator has had enough', () => {
    const next = vi.spyOn(Subject.prototype, 'next');
    events.events$.pipe(take(1)).subscribe();
    breaker.trip();
    const [source] = next.mock.contexts as Subject<unknown>[];

    expect(source?.observed).toBe(false);
  });

  it('feeds a subject', () => {
    const subject = new Subject<ResilienceEvent>();
    const next = vi.fn();
    subject.subscribe(next);
    events.events$.subscribe(subject);
    breaker.trip();

    expect(next).toHaveBeenCalledOnce();
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
  ])('subscribes with %s', (_case, observer) => {
    const subscription = events.events$.subscribe(observer as never);
    breaker.trip();

    expect(subscription.closed).toBe(false);
  });

  it('calls an observer with itself as this', () => {
    const observer = {
      seen: 0,
      next() {
        this.seen += 1;
      },
    };
    events.events$.subscribe(observer);
    breaker.trip();

    expect(observer.seen).toBe(1);
  });

  it('takes three callbacks', () => {
    const next = vi.fn();
    const complete = vi.fn();
    events.events$.subscribe(next, null, complete);
    breaker.trip();
    events.onApplicationShutdown();

    expect(next).toHaveBeenCalledOnce();
    expect(complete).toHaveBeenCalledOnce();
  });
});

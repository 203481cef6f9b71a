import '../install.js';
import { BulkheadPolicy, ResiliencePolicy, RetryPolicy, TimeoutPolicy } from 'holdfast';
import { Observable, Subject, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const lost = new Error('connection lost');
const torn = (): never => {
  throw new Error('teardown');
};
const bulkheadOfOne = () => new BulkheadPolicy({ maxConcurrent: 1, name: 'feeds' });

/** A stream of what the test emits, which cannot be torn down without an error. */
function fragile(events: Subject<string>): Observable<string> {
  return new Observable((subscriber) => {
    subscriber.add(events.subscribe(subscriber));
    return torn;
  });
}

function listen(stream: Observable<unknown>) {
  const heard: unknown[] = [];
  const subscription = stream.subscribe({
    next: (value) => heard.push(value),
    error: (error: unknown) => heard.push(error),
    complete: () => heard.push('complete'),
  });

  return { heard, subscription };
}

/** It begins on a timer: what is thrown there, nobody would catch. */
async function heardOfSecondAttempt(stream: Observable<string>): Promise<unknown[]> {
  const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 50, factor: 1, jitter: 'none' } });
  const { heard } = listen(
    retry.executeObservable(({ attempt }) => (attempt === 1 ? throwError(() => new Error('down')) : stream)),
  );
  await vi.advanceTimersByTimeAsync(50);

  return heard;
}

describe('a stream whose teardown throws', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  });

  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('is given up at the limit all the same, and gives its slot back', async () => {
    const [events, bulkhead] = [new Subject<string>(), bulkheadOfOne()];
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), bulkhead);
    const { heard } = listen(policy.executeObservable(() => fragile(events)));
    await vi.advanceTimersByTimeAsync(99);
    expect(heard).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);

    expect(heard).toEqual([expect.objectContaining({ code: 'TIMEOUT' })]);
    expect(events.observed).toBe(false);
    expect(bulkhead.active).toBe(0);
  });

  it('is followed by the next attempt', async () => {
    const [events, bulkhead] = [new Subject<string>(), bulkheadOfOne()];
    const retry = new RetryPolicy({ attempts: 3, backoff: { delay: 50, factor: 1, jitter: 'none' } });
    const policy = ResiliencePolicy.wrap(retry, new TimeoutPolicy(100), bulkhead);
    const attempts: number[] = [];
    const { heard } = listen(
      policy.executeObservable(({ attempt }) => {
        attempts.push(attempt);
        return fragile(attempt === 1 ? events : new Subject());
      }),
    );
    events.error(lost);
    await vi.advanceTimersByTimeAsync(50 + 100 + 50 + 100);

    expect(attempts).toEqual([1, 2, 3]);
    expect(heard).toEqual([expect.objectContaining({ code: 'TIMEOUT' })]);
    expect(bulkhead.active).toBe(0);
  });

  it.each([
    ['completes', (events: Subject<string>) => events.complete(), 'complete'],
    ['fails', (events: Subject<string>) => events.error(lost), lost],
  ])('has the outcome that it has, when it %s', (_how, end, outcome) => {
    const [events, bulkhead] = [new Subject<string>(), bulkheadOfOne()];
    const { heard } = listen(bulkhead.executeObservable(() => fragile(events)));
    events.next('first');
    end(events);

    expect(heard).toEqual(['first', outcome]);
    expect(bulkhead.active).toBe(0);
  });

  it('has it as well when it ends at once, in an attempt that nobody has called', async () => {
    const ended = new Observable<string>((subscriber) => {
      subscriber.next('only');
      subscriber.complete();
      return torn;
    });

    expect(await heardOfSecondAttempt(ended)).toEqual(['only', 'complete']);
  });

  it('gives its slot back when its subscriber leaves', () => {
    const [events, bulkhead] = [new Subject<string>(), bulkheadOfOne()];
    const { heard, subscription } = listen(bulkhead.executeObservable(() => fragile(events)));
    expect(bulkhead.active).toBe(1);
    subscription.unsubscribe();

    expect(bulkhead.active).toBe(0);
    expect(events.observed).toBe(false);
    expect(heard).toEqual([]);
  });

  it('or that cannot even be subscribed to has failed', async () => {
    const broken = new Observable<string>();
    vi.spyOn(broken, 'subscribe').mockImplementation(() => {
      throw lost;
    });

    expect(await heardOfSecondAttempt(broken)).toEqual([lost]);
  });
});

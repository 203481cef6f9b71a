import '../install.js';
import { adaptive, ResiliencePolicy, RetryPolicy, TimeoutPolicy } from 'holdfast';
import { Subject, throwError, type Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

describe('of a stream a learned limit hears', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  function watched() {
    const limit = adaptive({ initial: 100, shadow: true });
    const answered = vi.spyOn(limit, 'record');
    const cut = vi.spyOn(limit, 'recordCut');
    const events = new Subject<string>();
    const listen = (stream: Observable<unknown>): void => void stream.subscribe({ error: () => {} });

    return { limit, answered, cut, events, listen };
  }

  it('how long the first value took, and not how long it goes on', async () => {
    const { limit, answered, cut, events, listen } = watched();
    listen(new TimeoutPolicy(limit).executeObservable(() => events));
    await vi.advanceTimersByTimeAsync(20);
    events.next('first');
    expect(answered.mock.calls).toEqual([[20]]);

    await vi.advanceTimersByTimeAsync(60_000);
    events.next('second');
    events.complete();

    expect(answered.mock.calls).toEqual([[20]]);
    expect(cut).not.toHaveBeenCalled();
  });

  it('the same of one that fails after it', async () => {
    const { limit, answered, cut, events, listen } = watched();
    listen(new TimeoutPolicy(limit).executeObservable(() => events));
    await vi.advanceTimersByTimeAsync(20);
    events.next('first');
    events.error(new Error('down'));

    expect(answered.mock.calls).toEqual([[20]]);
    expect(cut).not.toHaveBeenCalled();
  });

  it('how long one took that ends without a value', async () => {
    const { limit, answered, events, listen } = watched();
    listen(new TimeoutPolicy(limit).executeObservable(() => events));
    await vi.advanceTimersByTimeAsync(30);
    events.complete();

    expect(answered.mock.calls).toEqual([[30]]);
  });

  it('the time of the attempt whose value it is', async () => {
    const { limit, answered, events, listen } = watched();
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 50, factor: 1, jitter: 'none' } });
    listen(
      ResiliencePolicy.wrap(retry, new TimeoutPolicy(limit)).executeObservable(({ attempt }) =>
        attempt === 1 ? throwError(() => new Error('down')) : events,
      ),
    );
    await vi.advanceTimersByTimeAsync(60);
    events.next('first');

    expect(answered.mock.calls).toEqual([[10]]);
  });

  it('that the first value was cut', async () => {
    const { limit, answered, cut, events, listen } = watched();
    listen(new TimeoutPolicy(limit).executeObservable(() => events));
    await vi.advanceTimersByTimeAsync(100);

    expect(answered).not.toHaveBeenCalled();
    expect(cut.mock.calls).toEqual([[100]]);
  });
});

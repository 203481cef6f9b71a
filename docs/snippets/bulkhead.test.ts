import { BulkheadFullError, ResilienceTimeoutError, type ResiliencePolicy } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { database, early, endless, exporting, exportQuotes, late, readBoth, readEach, short } from './bulkhead.js';
import { fetchQuotes, liveQuotes, scriptCarrier } from './carrier.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

const ask = (policy: ResiliencePolicy) => policy.execute(({ signal }) => fetchQuotes('1001', signal));
const outcome = (call: Promise<unknown>) => call.catch((error: unknown) => error);

describe('the page on bulkheads shows', () => {
  it('two calls that run, three that wait, and one that is refused', async () => {
    const carrier = scriptCarrier([{ answer: liveQuotes, after: '1s' }]);
    const calls = Array.from({ length: 6 }, () => outcome(exportQuotes('1001')));

    expect(carrier.running).toBe(2);
    expect([exporting.active, exporting.queued]).toEqual([2, 3]);
    expect(await calls[5]).toMatchObject({ code: 'BULKHEAD_FULL', reason: 'full' });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await Promise.all(calls.slice(0, 5))).toEqual(Array.from({ length: 5 }, () => liveQuotes));
  });

  it('that an endless queue makes everybody wait, and a short one says no', async () => {
    scriptCarrier([{ answer: liveQuotes, after: '1s' }]);
    const last = Array.from({ length: 100 }, () => ask(endless)).at(-1);
    await vi.advanceTimersByTimeAsync(49_999);
    expect(endless.active).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(await last).toBe(liveQuotes);

    scriptCarrier([{ answer: liveQuotes, after: '900ms' }]);
    const calls = Array.from({ length: 100 }, () => outcome(ask(short)));
    expect(await calls[6]).toBeInstanceOf(BulkheadFullError);
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await Promise.all(calls)).filter((result) => result === liveQuotes)).toHaveLength(6);
  });

  it('that a call which holds a slot must not wait for another one of the same bulkhead', async () => {
    expect(await readEach()).toEqual(['1001', '1002']);

    let done = false;
    void readBoth().then(() => (done = true));
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(done).toBe(false);
    expect([database.active, database.queued]).toEqual([1, 1]);
  });

  it('that the queue must be shorter than the timeout, or waiting ends in a 504', async () => {
    scriptCarrier([{ hang: true }]);
    const calls = Array.from({ length: 3 }, () => outcome(ask(late)));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await calls[2]).toBeInstanceOf(ResilienceTimeoutError);

    const others = Array.from({ length: 3 }, () => outcome(ask(early)));
    await vi.advanceTimersByTimeAsync(500);
    expect(await others[2]).toMatchObject({ code: 'BULKHEAD_FULL', reason: 'queue-timeout' });
    await vi.advanceTimersByTimeAsync(1_500);
    await Promise.all([...calls, ...others]);
  });
});

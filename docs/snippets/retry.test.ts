import { DownstreamError } from 'holdfast/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchQuotes, liveQuotes, scriptCarrier } from './carrier.js';
import { atOnce, everything, getQuotes, onlyTheNetwork, outside, spread, swallowed, waitForBooking } from './retry.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

const networkDown = new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } });

describe('the page on retry shows', () => {
  it('a policy that gets an answer on the third attempt', async () => {
    const carrier = scriptCarrier([{ fail: 503 }, { fail: 503 }, { answer: liveQuotes }]);
    const quotes = getQuotes('1001');
    await vi.advanceTimersByTimeAsync(300);

    expect(await quotes).toBe(liveQuotes);
    expect(carrier.calls).toHaveLength(3);
  });

  it('a policy that asks every second until a booking is done', async () => {
    const look = vi.fn().mockResolvedValueOnce({ state: 'pending' }).mockResolvedValueOnce({ state: 'pending' });
    look.mockResolvedValue({ state: 'done' });
    const booking = waitForBooking(look);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(look).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(1);

    expect(await booking).toEqual({ state: 'done' });
    expect(look).toHaveBeenCalledTimes(3);
  });

  it('that a predicate of one’s own repeats what cannot succeed', async () => {
    const carrier = scriptCarrier([{ fail: 404 }]);
    const quotes = everything.execute(({ signal }) => fetchQuotes('1001', signal)).catch(String);
    await vi.advanceTimersByTimeAsync(600);

    expect(await quotes).toContain('404');
    expect(carrier.calls).toHaveLength(3);
  });

  it('a predicate that repeats network failures only', async () => {
    const carrier = scriptCarrier([{ fail: 503 }]);
    await expect(onlyTheNetwork.execute(({ signal }) => fetchQuotes('1001', signal))).rejects.toThrow(DownstreamError);
    expect(carrier.calls).toHaveLength(1);

    const again = scriptCarrier([{ fail: networkDown }, { answer: liveQuotes }]);
    const quotes = onlyTheNetwork.execute(({ signal }) => fetchQuotes('1001', signal));
    await vi.advanceTimersByTimeAsync(200);
    expect(await quotes).toBe(liveQuotes);
    expect(again.calls).toHaveLength(2);
  });

  it('that retries without a wait are ten calls in no time, and three spread ones are not', async () => {
    const hammered = scriptCarrier([{ fail: 503 }]);
    const quotes = atOnce.execute(({ signal }) => fetchQuotes('1001', signal)).catch(String);
    await vi.advanceTimersByTimeAsync(9);
    expect(hammered.calls).toHaveLength(10);
    await quotes;

    vi.spyOn(Math, 'random').mockReturnValue(0.99);
    const spared = scriptCarrier([{ fail: 503 }]);
    const late = spread.execute(({ signal }) => fetchQuotes('1001', signal)).catch(String);
    await vi.advanceTimersByTimeAsync(197);
    expect(spared.calls).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await late;
    expect(spared.calls).toHaveLength(3);
  });

  it('that work which swallows its errors is never repeated', async () => {
    const carrier = scriptCarrier([{ fail: 503 }, { answer: liveQuotes }]);
    expect(await swallowed('1001')).toEqual([]);
    expect(carrier.calls).toHaveLength(1);

    scriptCarrier([{ fail: 503 }, { answer: liveQuotes }]);
    const quotes = outside('1001');
    await vi.advanceTimersByTimeAsync(100);
    expect(await quotes).toBe(liveQuotes);
  });
});

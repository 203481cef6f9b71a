import { ResilienceTimeoutError } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchQuotes, liveQuotes, scriptCarrier } from './carrier.js';
import { bounded, deaf, exportPages, getQuotes, growing, noLimit, raced } from './timeout.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

describe('the page on timeouts shows', () => {
  it('a call that is given up and cancelled after two seconds, with one and the same error', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const quotes = getQuotes('1001').catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(carrier.running).toBe(1);
    await vi.advanceTimersByTimeAsync(1);

    expect(await quotes).toBeInstanceOf(ResilienceTimeoutError);
    expect(carrier.calls).toEqual([{ attempt: 1, state: 'cancelled', reason: await quotes }]);
  });

  it('a limit for each attempt, and one for all of them', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999);
    const carrier = scriptCarrier([{ hang: true }]);
    const quotes = bounded.execute(({ signal }) => fetchQuotes('1001', signal)).catch(String);
    await vi.advanceTimersByTimeAsync(3_999);
    expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'running']);
    await vi.advanceTimersByTimeAsync(1);

    expect(await quotes).toBe('ResilienceTimeoutError: Timed out after 4000ms');
    expect(carrier.running).toBe(0);
  });

  it('attempts that get more time each', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const carrier = scriptCarrier([{ hang: true }, { answer: liveQuotes, after: '900ms' }]);
    const quotes = growing.execute(({ signal }) => fetchQuotes('1001', signal));
    await vi.advanceTimersByTimeAsync(1_500);

    expect(await quotes).toBe(liveQuotes);
    expect(carrier.calls).toHaveLength(2);
  });

  it('that a call without the signal runs on', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const quotes = deaf('1001').catch(String);
    await vi.advanceTimersByTimeAsync(2_000);

    expect(await quotes).toContain('Timed out');
    expect(carrier.running).toBe(1);
  });

  it('that a race leaves its timer behind, and the loser running', async () => {
    scriptCarrier([{ answer: liveQuotes }]);
    expect(await raced('1001')).toBe(liveQuotes);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);

    const carrier = scriptCarrier([{ hang: true }]);
    const quotes = raced('1001').catch(String);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await quotes).toContain('too late');
    expect(carrier.running).toBe(1);
  });

  it('a loop that stops between two steps', async () => {
    const write = vi.fn(() => new Promise<void>((resolve) => setTimeout(resolve, 800)));
    const done = exportPages(10, write).catch(String);
    await vi.advanceTimersByTimeAsync(10_000);

    expect(await done).toContain('Timed out');
    expect(write).toHaveBeenCalledTimes(3);
  });

  it('that 0 is refused', () => {
    expect(noLimit).toThrow('Invalid duration 0: it must be greater than 0.');
  });
});

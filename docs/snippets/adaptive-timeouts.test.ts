import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { carrierLimit, getQuotes, learned, watched } from './adaptive-timeouts.js';
import { liveQuotes, scriptCarrier } from './carrier.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

describe('the page on adaptive timeouts shows', () => {
  it('a limit that leaves its first value for one that follows the latency', async () => {
    scriptCarrier([{ answer: liveQuotes, after: '100ms' }]);
    for (let call = 0; call < 10; call++) {
      expect(carrierLimit.limitMs).toBe(2_000);
      const quotes = getQuotes('1001');
      await vi.advanceTimersByTimeAsync(100);
      expect(await quotes).toBe(liveQuotes);
    }

    expect(carrierLimit.limitMs).toBeGreaterThan(200);
    expect(carrierLimit.limitMs).toBeLessThan(210);
  });

  it('a limit that is only reported', async () => {
    for (let call = 0; call < 10; call++) await watched.execute(() => liveQuotes);
    const slow = watched.execute(() => new Promise((resolve) => setTimeout(resolve, 1_999, 'answer')));
    await vi.advanceTimersByTimeAsync(1_999);

    expect(await slow).toBe('answer');
    expect(learned.slice(8, 10)).toEqual([2_000, 10]);
  });
});

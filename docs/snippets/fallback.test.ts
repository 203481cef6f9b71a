import type { ResiliencePolicy } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchQuotes, flatRates, liveQuotes, scriptCarrier } from './carrier.js';
import { asksAgain, asksNobody, getQuotes, hidesBugs, limited, limitless, showsBugs } from './fallback.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

const ask = (policy: ResiliencePolicy) => policy.execute(({ signal }) => fetchQuotes('1001', signal));

describe('the page on fallbacks shows', () => {
  it('flat rates while the breaker is open, and only then', async () => {
    scriptCarrier([{ answer: liveQuotes }]);
    expect(await getQuotes('1001')).toBe(liveQuotes);

    const carrier = scriptCarrier([{ fail: 503 }]);
    for (let call = 0; call < 9; call++) await expect(getQuotes('1001')).rejects.toThrow('503');
    expect(await getQuotes('1001')).toBe(flatRates);
    expect(carrier.calls).toHaveLength(9);
  });

  it('that a fallback must not ask the dependency that it stands in for', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    let done = false;
    void ask(asksAgain).then(() => (done = true));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(done).toBe(false);
    expect(carrier.calls).toHaveLength(2);

    const quotes = ask(asksNobody);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await quotes).toBe(flatRates);
  });

  it('that a fallback for everything hides mistakes of our own', async () => {
    const mistaken = () => (undefined as unknown as string[]).length;

    expect(await hidesBugs.execute(mistaken)).toBe(flatRates);
    await expect(showsBugs.execute(mistaken)).rejects.toThrow(TypeError);
  });

  it('that a fallback which waits for something needs a limit of its own', async () => {
    scriptCarrier([{ fail: 503 }, { hang: true }]);
    let done = false;
    void ask(limitless).then(() => (done = true));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(done).toBe(false);

    scriptCarrier([{ fail: 503 }, { hang: true }]);
    const quotes = ask(limited);
    await vi.advanceTimersByTimeAsync(200);
    expect(await quotes).toBe(flatRates);
  });
});

import { OutboundRateLimitError, type ResiliencePolicy } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchQuotes, liveQuotes, scriptCarrier } from './carrier.js';
import * as page from './rate-limit.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

const ask = (policy: ResiliencePolicy) => policy.execute(({ signal }) => fetchQuotes('1001', signal));
const outcome = (call: Promise<unknown>) => call.catch((error: unknown) => error);

/** How many calls start within a minute when everybody asks at once, and go on asking. */
async function callsInAMinute(policy: ResiliencePolicy): Promise<number> {
  const carrier = scriptCarrier([{ answer: liveQuotes }]);
  const calls = Array.from({ length: 300 }, () => outcome(ask(policy)));
  await vi.advanceTimersByTimeAsync(59_999);
  const started = carrier.calls.length;
  await vi.advanceTimersByTimeAsync(60_000);
  await Promise.all(calls);

  return started;
}

describe('the page on rate limits shows', () => {
  it('five calls at once, two that wait for their turn, and one that is told when to come back', async () => {
    const carrier = scriptCarrier([{ answer: liveQuotes }]);
    const calls = Array.from({ length: 8 }, () => outcome(page.getQuotes('1001')));
    expect(carrier.calls).toHaveLength(5);
    expect(page.contract.available).toBe(0);
    await vi.advanceTimersByTimeAsync(199);
    expect(carrier.calls).toHaveLength(5);
    await vi.advanceTimersByTimeAsync(1);
    expect(carrier.calls).toHaveLength(6);
    await vi.advanceTimersByTimeAsync(200);
    expect(carrier.calls).toHaveLength(7);

    expect(await calls[7]).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 600 });
  });

  it('that a large burst and its refill are almost twice the limit, and a small one is not', async () => {
    expect(await callsInAMinute(page.bursting)).toBeGreaterThan(190);
    expect(await callsInAMinute(page.even)).toBeLessThanOrEqual(100);
  });

  it('that each process has a share of what the contract allows', () => {
    expect(page.perProcess.available * 4).toBe(400);
    expect(page.share.available * 4).toBe(100);
  });

  it('that a refusal is not retried, and a wait does what was meant', async () => {
    for (const policy of [page.retried, page.waiting]) await Promise.all(Array.from({ length: 5 }, () => ask(policy)));

    await expect(ask(page.retried)).rejects.toThrow(OutboundRateLimitError);
    const patient = ask(page.waiting);
    await vi.advanceTimersByTimeAsync(200);
    expect(await patient).toBe(liveQuotes);
  });
});

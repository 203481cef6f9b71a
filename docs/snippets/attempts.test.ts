import { createPolicy } from 'holdfast';
import { EventRecorder } from 'holdfast/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { askRoute, askUntil } from './attempts.js';
import { scriptCarrier } from './carrier.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

describe('the page on attempts shows', () => {
  it('a service whose retries end with the route’s attempt, without being handed anything', async () => {
    const carrier = scriptCarrier([{ fail: 503, after: '300ms' }]);
    const quotes = askRoute('1001').catch(String);
    await vi.advanceTimersByTimeAsync(1_000);
    const calls = carrier.calls.length;

    expect(await quotes).toBe('ResilienceTimeoutError: Timed out after 1000ms');
    expect(carrier.calls.at(-1)?.state).not.toBe('running');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(carrier.calls).toHaveLength(calls);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('a signal of one’s own beside the inherited one', async () => {
    scriptCarrier([{ hang: true }]);
    const shutdown = new AbortController();
    const quotes = askUntil('1001', shutdown.signal).catch((error: unknown) => error);
    const reason = new Error('The process ends');
    shutdown.abort(reason);

    expect(await quotes).toBe(reason);
  });

  it('the order of the events of a call in whose middle a breaker opens', async () => {
    const policy = createPolicy({
      retry: 5,
      circuitBreaker: { minimumCalls: 2, failureRateThreshold: 100 },
      fallback: () => 'flat rate',
    });
    const events = new EventRecorder(policy);
    const call = policy.execute(() => Promise.reject(new Error('down')));
    await vi.advanceTimersByTimeAsync(600);

    expect(await call).toBe('flat rate');
    expect(events.types).toEqual(['retry', 'circuit-open', 'retry', 'circuit-rejected', 'fallback']);
  });
});

import { CircuitOpenError, type ResiliencePolicy } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchQuotes, liveQuotes, scriptCarrier } from './carrier.js';
import {
  breaker,
  describeBreaker,
  fair,
  getQuotes,
  getQuotesOnce,
  offended,
  outOfStock,
  watchful,
  withLimit,
  withoutLimit,
} from './circuit-breaker.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

const times = async (count: number, call: () => Promise<unknown>): Promise<unknown[]> => {
  const outcomes: unknown[] = [];
  for (let index = 0; index < count; index++) outcomes.push(await call().catch((error: unknown) => error));

  return outcomes;
};
const ask = (policy: ResiliencePolicy) => policy.execute(({ signal }) => fetchQuotes('1001', signal));

describe('the page on circuit breakers shows', () => {
  it('a breaker that opens, refuses, and closes again with a probe', async () => {
    const down = scriptCarrier([{ fail: 503 }]);
    await times(10, () => getQuotes('1001'));
    expect(describeBreaker()).toBe('carrier is open: 10 of 10 calls failed (100 %)');
    expect(await getQuotes('1001').catch((error: unknown) => error)).toBeInstanceOf(CircuitOpenError);
    expect(down.calls).toHaveLength(10);

    scriptCarrier([{ answer: liveQuotes }]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(breaker.state).toBe('half-open');
    expect(await getQuotes('1001')).toBe(liveQuotes);
    expect(describeBreaker()).toBe('carrier is closed: 0 of 0 calls failed (0 %)');
  });

  it('a breaker that opens after five failures in a row, and for longer each time', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999999);
    scriptCarrier([{ fail: 503 }]);
    await times(5, () => ask(watchful));
    expect(watchful.state).toBe('open');

    vi.advanceTimersByTime(10_000);
    await times(1, () => ask(watchful));
    vi.advanceTimersByTime(10_000);
    expect(watchful.state).toBe('open');
    vi.advanceTimersByTime(10_000);
    expect(watchful.state).toBe('half-open');
    watchful.reset();
  });

  it('a breaker that opens when the carrier is only slow', async () => {
    scriptCarrier([{ answer: liveQuotes, after: '1s' }]);
    const slow = Array.from({ length: 10 }, () => ask(watchful));
    await vi.advanceTimersByTimeAsync(1_000);
    await Promise.all(slow);

    expect(watchful.state).toBe('open');
  });

  it('that a breaker made for each call never opens', async () => {
    const carrier = scriptCarrier([{ fail: 503 }]);
    await times(100, () => getQuotesOnce('1001'));

    expect(carrier.calls).toHaveLength(100);
  });

  it('that calls which hang are never counted without a limit, and are with one', async () => {
    scriptCarrier([{ hang: true }]);
    for (let call = 0; call < 20; call++) void ask(withoutLimit);
    await vi.advanceTimersByTimeAsync(3_600_000);
    const hanging = scriptCarrier([{ answer: liveQuotes }]);
    expect(await ask(withoutLimit)).toBe(liveQuotes);
    expect(hanging.calls).toHaveLength(1);

    scriptCarrier([{ hang: true }]);
    const calls = Array.from({ length: 10 }, () => ask(withLimit).catch(String));
    await vi.advanceTimersByTimeAsync(2_000);
    await Promise.all(calls);
    await expect(ask(withLimit)).rejects.toThrow(CircuitOpenError);
  });

  it('that one customer’s bad requests must not close the shop for the others', async () => {
    scriptCarrier([{ fail: 404 }]);
    await times(10, () => ask(offended));
    await times(10, () => ask(fair));
    scriptCarrier([{ fail: outOfStock }]);
    await times(10, () => ask(fair));

    expect(offended.state).toBe('open');
    expect(fair.state).toBe('closed');
    expect(fair.stats.total).toBe(0);
  });
});

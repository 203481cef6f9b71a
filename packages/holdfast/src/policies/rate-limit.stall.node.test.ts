import { describe, expect, it } from 'vitest';
import { OutboundRateLimitPolicy } from '../index.js';

// Real time: what has come while the event loop was held is found together afterwards.

const LIMIT = 3;
const INTERVAL_MS = 150;

function holdEventLoop(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe('turns that have all come while the event loop was held', () => {
  it('are given no faster than the limit says, and in order', async () => {
    const policy = new OutboundRateLimitPolicy({ limit: LIMIT, interval: INTERVAL_MS, maxWait: '10s' });
    const started: { readonly call: number; readonly at: number }[] = [];
    const calls = Array.from({ length: 15 }, (_, call) =>
      policy.execute(() => started.push({ call, at: performance.now() })),
    );
    holdEventLoop(600);
    await Promise.all(calls);

    expect(started.map(({ call }) => call)).toEqual([...Array(15).keys()]);
    for (const { at } of started) {
      const within = started.filter((other) => other.at >= at && other.at < at + INTERVAL_MS);
      expect(within.length).toBeLessThanOrEqual(2 * LIMIT + 1);
    }
  });
});

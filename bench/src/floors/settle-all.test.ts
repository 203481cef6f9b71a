import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { settleAll } from './settle-all.js';

// A floor that promised less than an answer from sections would make that look slow.

const down = new Error('down');
const hang = (): Promise<never> => new Promise(() => {});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('an answer from several calls by hand', () => {
  it('has what each gives by its key, and leaves no timer', async () => {
    await expect(settleAll({ a: async () => 1, b: async () => 2 }, 100)).resolves.toEqual({
      data: { a: 1, b: 2 },
      missing: [],
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('lists in their order those that failed, threw or hung, each at its limit', async () => {
    const works = {
      hung: hang,
      good: async () => 1,
      failed: () => Promise.reject(down),
      threw: (): Promise<number> => {
        throw down;
      },
    };
    const settled = vi.fn<(outcome: unknown) => void>();
    void settleAll(works, 100).then(settled);

    await vi.advanceTimersByTimeAsync(99);
    expect(settled).not.toHaveBeenCalled();

    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toHaveBeenCalledExactlyOnceWith({
      data: { hung: undefined, good: 1, failed: undefined, threw: undefined },
      missing: ['hung', 'failed', 'threw'],
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('gives each a signal of its own, which aborts at the limit', async () => {
    const signals: AbortSignal[] = [];
    const watch = (signal: AbortSignal): Promise<never> => {
      signals.push(signal);
      return hang();
    };
    void settleAll({ a: watch, b: watch }, 100);
    await vi.advanceTimersByTimeAsync(100);

    expect(new Set(signals).size).toBe(2);
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });
});

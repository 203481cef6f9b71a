import { afterEach, describe, expect, it, vi } from 'vitest';
import { isFaked, now } from './clock.js';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('the clock', () => {
  it('tells the time since the epoch', () => {
    expect(Math.abs(now() - Date.now())).toBeLessThan(1_000);
  });

  it('never runs backwards', () => {
    let last = now();
    for (let look = 0; look < 10_000; look++) {
      const time = now();
      expect(time).toBeGreaterThanOrEqual(last);
      last = time;
    }
  });

  it('is the monotonic one: it moves when that does, by as much', () => {
    vi.spyOn(performance, 'now').mockReturnValueOnce(1_000).mockReturnValueOnce(1_250.5);
    const earlier = now();

    expect(now() - earlier).toBeCloseTo(250.5, 3);
  });

  it('is that of fake timers as soon as they are installed, and as long as they are', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 5_000 });
    expect(now()).toBe(5_000);
    expect(isFaked()).toBe(true);

    vi.advanceTimersByTime(100);
    expect(now()).toBe(5_100);
    vi.setSystemTime(1);
    expect(now()).toBe(1);

    vi.useRealTimers();
    expect(isFaked()).toBe(false);
    expect(Math.abs(now() - Date.now())).toBeLessThan(1_000);
  });

  it('is `Date.now` when that alone has been replaced', () => {
    const replaced = vi.spyOn(Date, 'now').mockReturnValue(42);
    expect(now()).toBe(42);
    expect(isFaked()).toBe(true);

    replaced.mockRestore();
    expect(isFaked()).toBe(false);
    expect(now()).toBeGreaterThan(42);
  });
});

import { afterEach, beforeEach, expect, vi } from 'vitest';
import { microtasks } from './outcome.js';

let elapsed: number;

/**
 * Runs each test of the file on a clock that goes by itself and on timers that are fired by themselves, so that a timer is
 * as late as the test says, as behind a held event loop. Fails a test that leaves one behind.
 */
export function useHeldClock(): void {
  beforeEach(() => {
    elapsed = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => elapsed);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(() => {
    const timers = vi.getTimerCount();
    vi.useRealTimers();
    expect(timers, 'timers that the test left behind').toBe(0);
  });
}

/** Lets time go by of which no timer hears. */
export function hold(milliseconds: number): void {
  elapsed += milliseconds;
}

/** Fires the timers of the next `milliseconds`, once `afterMs` have gone by. */
export async function fire(milliseconds: number, afterMs: number): Promise<void> {
  hold(afterMs);
  vi.advanceTimersByTime(milliseconds);
  await microtasks();
}

/** Lets input be handled that has arrived. Of Node. */
export const nextMacrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

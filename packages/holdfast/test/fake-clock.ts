import { afterEach, beforeEach, expect, vi } from 'vitest';
import { microtasks } from './outcome.js';

/** When the fake clock starts: a multiple of every window and bucket that the tests use. */
export const START = 1_800_000_000_000;

/** Runs each test of the file on a fake clock, and fails a test that leaves a timer behind. */
export function useFakeClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: START });
  });

  afterEach(() => {
    const timers = vi.getTimerCount();
    vi.useRealTimers();
    expect(timers, 'timers that the test left behind').toBe(0);
  });
}

/** Moves the clock, firing what is due on the way, and lets all that follows from it happen. */
export async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
}

/**
 * As {@link pass}, without a macrotask of the platform, for tests that move the clock thousands of times. Timers that
 * are due in the same millisecond fire together.
 */
export async function passQuickly(milliseconds: number): Promise<void> {
  vi.advanceTimersByTime(0);
  await microtasks();
  for (let step = 0; step < milliseconds; step++) {
    vi.advanceTimersByTime(1);
    await microtasks();
  }
}

import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { startTimer, stopTimer } from './timers.js';

const LONGEST = 2 ** 31 - 1;

useFakeClock();

/** What was fired, and with what. */
function fired(): { readonly targets: unknown[]; readonly fire: (target: unknown) => void } {
  const targets: unknown[] = [];

  return { targets, fire: (target) => void targets.push(target) };
}

describe('a timer', () => {
  it.each([
    [0, 0],
    [1, 1],
    [99.2, 100],
    [100, 100],
    [LONGEST, LONGEST],
    [LONGEST + 0.5, LONGEST + 1],
    [LONGEST + 1, LONGEST + 1],
    [3 * LONGEST, 3 * LONGEST],
    [3 * LONGEST + 7, 3 * LONGEST + 7],
  ])('of %d ms fires once, after %d ms, with its target', async (delay, whole) => {
    const { targets, fire } = fired();
    startTimer(delay, fire, 'target');
    expect(targets).toEqual([]);
    await pass(Math.max(0, whole - 1));
    if (whole > 0) expect(targets).toEqual([]);

    await pass(1);
    expect(targets).toEqual(['target']);
    await pass(LONGEST);
    expect(targets).toHaveLength(1);
  });

  it('whose step comes late makes up for it in the next one', async () => {
    const { targets, fire } = fired();
    startTimer(LONGEST + 7, fire, 'target');
    vi.setSystemTime(Date.now() + 5);
    await pass(LONGEST + 1);
    expect(targets).toEqual([]);

    await pass(1);
    expect(targets).toEqual(['target']);
  });

  it('never asks the platform for more than it can hold', async () => {
    const asked = vi.spyOn(globalThis, 'setTimeout');
    const timer = startTimer(5 * LONGEST, () => {}, undefined);
    await pass(4 * LONGEST);
    stopTimer(timer);

    expect(Math.max(...asked.mock.calls.map(([, delay]) => delay as number))).toBe(LONGEST);
  });

  it.each([100, LONGEST, 2 * LONGEST, 5 * LONGEST])('of %d ms that is stopped does not fire', async (delay) => {
    const { targets, fire } = fired();
    const timer = startTimer(delay, fire, 'target');
    stopTimer(timer);
    expect(vi.getTimerCount()).toBe(0);
    await pass(6 * LONGEST);

    expect(targets).toEqual([]);
  });

  it('that is stopped on its way does not fire', async () => {
    const { targets, fire } = fired();
    const timer = startTimer(3 * LONGEST, fire, 'target');
    await pass(2 * LONGEST + 5);
    expect(vi.getTimerCount()).toBe(1);
    stopTimer(timer);
    expect(vi.getTimerCount()).toBe(0);
    await pass(LONGEST);

    expect(targets).toEqual([]);
  });

  it('that has fired, or was stopped, may be stopped again', async () => {
    const { targets, fire } = fired();
    const [short, long] = [startTimer(5, fire, 'short'), startTimer(2 * LONGEST, fire, 'long')];
    await pass(2 * LONGEST);
    for (const timer of [short, long, short, long, undefined]) stopTimer(timer);

    expect(targets).toEqual(['short', 'long']);
  });

  it('is that of the platform at the time, not at the time of the import', () => {
    const setTimeout = vi.fn();
    const clearTimeout = vi.fn();
    vi.stubGlobal('setTimeout', setTimeout);
    vi.stubGlobal('clearTimeout', clearTimeout);
    stopTimer(startTimer(5, () => {}, 'target'));
    vi.unstubAllGlobals();

    expect(setTimeout).toHaveBeenCalledTimes(1);
    expect(clearTimeout).toHaveBeenCalledTimes(1);
  });
});

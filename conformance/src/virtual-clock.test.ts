import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InstalledClock } from './virtual-clock.js';

let clock: InstalledClock;

beforeEach(() => {
  clock = new InstalledClock();
});

afterEach(() => clock.uninstall());

describe('A virtual clock', () => {
  it('fires a timer when its time has come and not before', async () => {
    let fired = 0;
    setTimeout(() => (fired += 1), 100);
    await clock.tick(99);
    expect([fired, clock.timers, clock.now]).toEqual([0, 1, 99]);
    await clock.tick(1);
    expect([fired, clock.timers, clock.now]).toEqual([1, 0, 100]);
  });

  it.each([3_600_000, -3_600_000])('sets the wall clock by %d ms while no time passes', async (ms) => {
    const before = Date.now();
    let fired = 0;
    setTimeout(() => (fired += 1), 100);
    await clock.tick(50);
    clock.step(ms);
    expect([Date.now() - before, clock.now]).toEqual([50 + ms, 50]);
    await clock.tick(49);
    expect(fired).toBe(0);
    await clock.tick(1);
    expect([fired, clock.now]).toEqual([1, 100]);
  });

  it('runs timers in the asynchronous context of whoever set them', async () => {
    const users = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    users.run('ada', () => setTimeout(() => seen.push(users.getStore()), 1));
    const interval = users.run('ben', () => setInterval(() => seen.push(users.getStore()), 2));
    await users.run('the one who lets time pass', () => clock.tick(2));
    clearInterval(interval);
    expect([seen, clock.timers]).toEqual([['ada', 'ben'], 0]);
  });
});

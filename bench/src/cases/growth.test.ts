import { describe, expect, it, vi } from 'vitest';
import type { Call } from '../sides.js';
import { keysAmong, namesAmong, oneOfBreakers, oneOfObjects, wrapOf } from './crowds.js';
import { sectionAmong } from './fan-out.js';
import { stepAmongWaiters, type Queue, type Step } from './waiters.js';
import { countWindow, timeWindow } from './windows.js';

const TIMES = 25;

async function repeatedly(call: Call): Promise<unknown> {
  let last: unknown;
  for (let time = 0; time < TIMES; time++) last = await call();

  return last;
}

const STEPS: readonly (readonly [Queue, Step])[] = [
  ['holdfast', 'leave-newest'],
  ['holdfast', 'leave-any'],
  ['holdfast', 'grant'],
  ['by hand', 'leave-any'],
  ['by hand', 'grant'],
  ['cockatiel', 'grant'],
  ['p-queue', 'grant'],
];

describe('A step in a queue', () => {
  it.each(STEPS)('of %s, %s, can be done over and over among few and many', async (queue, step) => {
    const { ours, other } = stepAmongWaiters(queue, step, 7);

    await expect(repeatedly(ours)).resolves.toBeUndefined();
    await expect(repeatedly(other)).resolves.toBeUndefined();
  });

  it('fails when somebody who left is not told so, as a queue that looks at no signal would have it', async () => {
    const { ours } = stepAmongWaiters('cockatiel', 'leave-any', 3);
    const isTold = ours().then(
      () => true,
      () => true,
    );

    expect(await Promise.race([isTold, Promise.resolve(false)])).toBe(false);
  });
});

describe('A window', () => {
  it('of calls is full, and one call in ten has failed', async () => {
    const { ours, other } = await countWindow(100, 20);

    expect(await repeatedly(ours)).toBe(10);
    expect(await repeatedly(other)).toBe(10);
  });

  it('of time holds as many calls as it is to, whatever the other side does', async () => {
    vi.spyOn(Date, 'now');
    const { ours, other } = await timeWindow(1_000, 20);

    expect(await repeatedly(other)).toBeCloseTo(10, -1);
    expect(await repeatedly(ours)).toBeCloseTo(10, 0);
  });
});

describe('A crowd', () => {
  it.each([
    ['breakers', oneOfBreakers],
    ['objects', oneOfObjects],
  ])('of %s answers as one does', async (_, sides) => {
    const { ours, other } = sides(7);

    expect([await repeatedly(ours), await repeatedly(other)]).toEqual([42, 42]);
  });

  it('of names finds each of them', async () => {
    const { ours } = await namesAmong(3);
    const { ours: byHand } = keysAmong(3);

    expect(await ours()).toMatchObject({ name: 'dependency-1' });
    expect(await byHand()).toMatchObject({ name: 'dependency-1' });
  });

  it('of policies gives what the work gives', async () => {
    expect(await wrapOf(10).ours()).toBe(42);
  });

  it('of sections builds as many on both sides', async () => {
    const { ours, other } = sectionAmong(1, 10);

    await expect(ours()).resolves.toBeUndefined();
    await expect(other()).resolves.toBeUndefined();
  });
});

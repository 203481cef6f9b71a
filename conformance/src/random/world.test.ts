import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Draws } from './draws.js';
import { World } from './world.js';

let world: World;
const seen: unknown[] = [];
const note = (what: unknown) => (): void => void seen.push(what);

beforeEach(() => {
  seen.length = 0;
  world = new World();
  world.begin(new Draws(1));
});

afterEach(() => world.uninstall());

describe('The world of a random execution', () => {
  it('fires timers in their very millisecond, and lets promises settle in between', async () => {
    const startedAt = world.now;
    setTimeout(() => void Promise.resolve().then(() => seen.push(world.now - startedAt)), 5);
    setTimeout(note('second'), 5);
    await world.pass(4);
    expect(seen).toEqual([]);

    await world.pass(1);
    expect(seen).toEqual([5, 'second']);
  });

  it('fires timers at once that are longer than those of the platform', async () => {
    setTimeout(note('longest'), 2 ** 31 - 1);
    setTimeout(note('too long'), 2 ** 31);
    await world.pass(1);

    expect(seen).toEqual(['too long']);
  });

  it('tells timers of the engine from those of work', async () => {
    world.startTimerOfWork(5, note('work'));
    setTimeout(note('engine'), 7);
    expect(world.timers).toBe(1);

    await world.pass(7);
    expect([seen, world.timers]).toEqual([['work', 'engine'], 0]);
  });

  it('steps the wall clock without time passing', () => {
    const [elapsed, wall] = [performance.now(), Date.now()];
    world.stepWallClock(-1_000);

    expect([performance.now() - elapsed, Date.now() - wall]).toEqual([0, -1_000]);
  });

  it('brings what came due while the loop was held late, timers before input, input before what waits for it', async () => {
    world.arrive(10, note('input'));
    setTimeout(() => {
      seen.push('timer');
      setImmediate(note('after input'));
    }, 20);
    await world.stall(60);

    expect(seen).toEqual(['timer', 'input', 'after input']);
  });

  it('forgets timers that are stopped, and counts those that wait', () => {
    const timer = setTimeout(note('never'), 5);
    expect(world.timers).toBe(1);

    clearTimeout(timer);
    expect(world.timers).toBe(0);
  });

  it('begins each execution at a moment of the same kind', async () => {
    const first = world.now;
    await world.pass(1_234);
    world.begin(new Draws(1));

    expect((world.now - first) % 60_000).toBe(0);
  });
});

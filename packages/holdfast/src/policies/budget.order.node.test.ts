import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nextMacrotask } from '../../test/held-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { microtasks, outcomeOf } from '../../test/outcome.js';
import { DeadlineExceededError, isDiscounted } from '../errors.js';
import { EventRecorder } from '../testing/index.js';
import { ResiliencePolicy } from '../policy.js';
import type { AttemptContext } from '../scope.js';
import { BudgetPolicy } from './budget.js';
import { TimeoutPolicy } from './timeout.js';

// A runtime keeps timers in lists by their delay, and may come to that of 101 ms before that of 100 ms.

interface SetTimer {
  readonly fire: (target: unknown) => void;
  readonly delay: number;
  readonly target: unknown;
}

let elapsed: number;
let timers: SetTimer[];

beforeEach(() => {
  elapsed = performance.now();
  timers = [];
  vi.spyOn(performance, 'now').mockImplementation(() => elapsed);
  vi.stubGlobal('setTimeout', (fire: SetTimer['fire'], delay: number, target: unknown) => {
    const timer = { fire, delay, target };
    timers.push(timer);
    return timer;
  });
  vi.stubGlobal('clearTimeout', (timer: SetTimer) => (timers = timers.filter((one) => one !== timer)));
});
afterEach(() => void vi.unstubAllGlobals());

/** Fires the timer of that delay, whatever others are due, when that many milliseconds have passed. */
async function fire(delay: number, afterMs: number): Promise<void> {
  elapsed += afterMs;
  const timer = timers.find((one) => one.delay === delay) as SetTimer;
  timers = timers.filter((one) => one !== timer);
  timer.fire(timer.target);
  await microtasks();
}

describe('a budget around a timeout whose timer comes first', () => {
  it('ends the call all the same, and says so', async () => {
    const budget = new BudgetPolicy({ budget: 100, name: 'page' });
    const events = new EventRecorder(budget);
    const work = new ManualWork();
    const call = outcomeOf(ResiliencePolicy.wrap(budget, new TimeoutPolicy('10s')).execute(work.run));
    await fire(101, 101);

    expect(call.value).toBeInstanceOf(DeadlineExceededError);
    expect(events.types).toEqual(['deadline']);
    expect(timers).toEqual([]);
  });

  it('does so once input has come that was already there, when both are late', async () => {
    const budget = new BudgetPolicy({ budget: 100, name: 'page' });
    const events = new EventRecorder(budget);
    const call = outcomeOf(ResiliencePolicy.wrap(budget, new TimeoutPolicy('10s')).execute(new ManualWork().run));
    await fire(101, 200);
    expect(call.state).toBe('pending');

    await nextMacrotask();
    await microtasks();
    expect(isDiscounted(call.value)).toBe(true);
    expect(events.types).toEqual(['deadline']);
  });

  it('leaves no call without an end that nobody waits for any more', async () => {
    const work = new ManualWork();
    const inner = new TimeoutPolicy('10s');
    let left = outcomeOf(Promise.resolve());
    const call = outcomeOf(
      new BudgetPolicy(100).execute(() => {
        left = outcomeOf(inner.execute(new ManualWork().run));
        return work.run({} as AttemptContext);
      }),
    );
    await fire(101, 200);
    work.call(0).answer('late');
    await nextMacrotask();
    await microtasks();

    expect([call.value, left.value]).toEqual([expect.any(DeadlineExceededError), expect.any(DeadlineExceededError)]);
    expect(timers).toEqual([]);
  });
});

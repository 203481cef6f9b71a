import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { outcomeOf } from '../test/outcome.js';
import { WatchedController } from '../test/watched-signal.js';
import { RetryPolicy, type AttemptContext } from './index.js';

useFakeClock();

describe('work inside another attempt that aborts its own caller when it is given up', () => {
  it('does not change the reason of a caller who has left', async () => {
    const [first, second] = [new WatchedController(), new WatchedController()];
    const reason = new Error('left');
    const work = ({ signal }: AttemptContext): Promise<never> => {
      signal.addEventListener('abort', () => second.abort(new Error('passed on')));
      return new Promise(() => {});
    };
    const policy = new RetryPolicy(2);
    const call = outcomeOf(
      policy.execute(() => policy.execute(work, { signal: second.signal }), { signal: first.signal }),
    );
    first.abort(reason);
    await pass(1);

    expect(call.value).toBe(reason);
    expect([first.listeners, second.listeners]).toEqual([0, 0]);
  });
});

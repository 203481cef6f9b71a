import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { outcomeOf } from '../test/outcome.js';
import { WatchedController } from '../test/watched-signal.js';
import { CircuitBreakerPolicy, RetryPolicy, type AttemptContext } from './index.js';
import { runInScope } from './scope.js';

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

describe('a call in a scope whose signal has aborted, of which we were not told', () => {
  it('says nothing about the dependency, and is not repeated', async () => {
    const caller = new AbortController();
    caller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const work = vi.fn(async () => {
      caller.abort(new Error('left'));
      throw new Error('down');
    });
    const policy = RetryPolicy.wrap(new RetryPolicy(3), breaker);
    const call = outcomeOf(runInScope({ signal: caller.signal }, () => policy.execute(work)));
    await pass(1_000);

    expect(call.value).toMatchObject({ message: 'down' });
    expect(work).toHaveBeenCalledTimes(1);
    expect(breaker.stats.total).toBe(0);
  });
});

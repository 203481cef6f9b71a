import { describe, expect, it, vi } from 'vitest';
import { CountedExecution } from '../test/counted-execution.js';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { outcomeOf } from '../test/outcome.js';
import { WatchedController } from '../test/watched-signal.js';
import type { Attempt } from './attempt.js';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
  type AttemptContext,
} from './index.js';

useFakeClock();

/** Work that hangs, and answers the abort of its signal by aborting its caller. */
function passingItOn(caller: WatchedController): { work: (context: AttemptContext) => unknown; reasons: unknown[] } {
  const reasons: unknown[] = [];
  const work = ({ signal }: AttemptContext): Promise<never> => {
    signal.addEventListener('abort', () => {
      reasons.push(signal.reason);
      caller.abort(new Error('passed on'));
    });
    return new Promise(() => {});
  };

  return { work, reasons };
}

describe('work that aborts its caller when it is given up', () => {
  it('leaves the call with the reason that it was given up for', async () => {
    const caller = new WatchedController();
    const { work, reasons } = passingItOn(caller);
    const call = outcomeOf(new TimeoutPolicy(100).execute(work, { signal: caller.signal }));
    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(reasons).toEqual([call.value]);
    expect(caller.listeners).toBe(0);
  });

  it('ends the call: there is no other attempt, and no fallback', async () => {
    const caller = new WatchedController();
    const { work, reasons } = passingItOn(caller);
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const bulkhead = new BulkheadPolicy({ holdUntilSettled: false });
    const policy = ResiliencePolicy.wrap(
      new FallbackPolicy(() => 'instead'),
      new RetryPolicy({ backoff: { delay: 1 } }),
      breaker,
      new TimeoutPolicy(100),
      bulkhead,
    );
    const call = outcomeOf(policy.execute(work, { signal: caller.signal }));
    await pass(1_000);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(reasons).toHaveLength(1);
    expect([breaker.state, bulkhead.active, caller.listeners]).toEqual(['open', 0, 0]);
  });
});

describe('a caller that leaves in a callback which then throws', () => {
  const reason = new Error('left');
  const down = new Error('down');

  it.each<[string, (leave: () => never) => ResiliencePolicy]>([
    ['retryIf', (retryIf) => new RetryPolicy({ retryIf })],
    ['a backoff function', (backoff) => new RetryPolicy({ backoff })],
    ['recordIf', (recordIf) => new CircuitBreakerPolicy({ recordIf })],
    ['handleIf', (handleIf) => new FallbackPolicy(() => 'instead', { handleIf })],
  ])('has its reason: %s, whether the work fails at once or later', async (_name, create) => {
    const works = [() => Promise.reject(down), () => throwDown()];
    for (const work of works) {
      const caller = new WatchedController();
      const policy = create(() => {
        caller.abort(reason);
        throw new Error('after that');
      });
      const call = outcomeOf(policy.execute(work, { signal: caller.signal }));
      await pass(1);

      expect(call).toEqual({ state: 'rejected', value: reason });
    }
  });

  const throwDown = (): never => {
    throw down;
  };
});

describe('a listener of the timeout that lets the work end', () => {
  it('lets it end in time, and the call once', async () => {
    const policy = new TimeoutPolicy(100);
    const onDelivery = vi.fn();
    const call = new CountedExecution({ policy, work, options: {}, keepsSlots: true, onDelivery });
    let attempt: Attempt | undefined;
    function work(context: AttemptContext): Promise<never> {
      attempt = context as Attempt;
      return new Promise(() => {});
    }
    policy.subscribe(() => call.settle(attempt as Attempt, true, 'at the last moment'));
    call.start();
    await pass(100);

    expect(onDelivery.mock.calls).toEqual([[true, 'at the last moment']]);
  });
});

describe('a caller that leaves in recordIf while a limit cuts its call', () => {
  it('comes second: the call ends with the limit, which counts', async () => {
    const caller = new WatchedController();
    const breaker = new CircuitBreakerPolicy({
      minimumCalls: 1,
      recordIf: () => (caller.abort(new Error('left')), true),
    });
    const policy = ResiliencePolicy.wrap(new RetryPolicy(3), new TimeoutPolicy(100), breaker);
    const call = outcomeOf(policy.execute(() => new Promise(() => {}), { signal: caller.signal }));
    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect([breaker.state, caller.listeners]).toEqual(['open', 0]);
  });
});

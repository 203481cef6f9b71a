import { describe, expect, it, vi } from 'vitest';
import { CountedExecution } from '../test/counted-execution.js';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { ManualWork } from '../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../test/outcome.js';
import type { Attempt } from './attempt.js';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  RetryPolicy,
} from './index.js';
import { EventRecorder } from './testing/index.js';

// Some runtimes let continuations run between two listeners of one signal, and a listener may stop all after it: then
// the signal has aborted, and whoever follows it does not know yet, or never will.

const reason = new Error('the caller left');
const down = new Error('down');

/** A caller whose abort is heard by nobody. */
function hiddenCaller(): AbortController {
  const controller = new AbortController();
  controller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());

  return controller;
}

/** Fails after its caller has left. */
const leaveAndFail = (caller: AbortController) => async (): Promise<never> => {
  caller.abort(reason);
  throw down;
};

useFakeClock();

describe('a call that fails when its caller has left, of which we were not told', () => {
  it('says nothing about the dependency, and recordIf is not asked', async () => {
    const caller = hiddenCaller();
    const recordIf = vi.fn(() => true);
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, recordIf });

    expect(await errorOf(breaker.execute(leaveAndFail(caller), { signal: caller.signal }))).toBe(down);

    expect(recordIf).not.toHaveBeenCalled();
    expect(breaker.stats.total).toBe(0);
    expect(breaker.state).toBe('closed');
  });

  it('decides no half-open period, and frees its place', async () => {
    const caller = hiddenCaller();
    const breaker = new CircuitBreakerPolicy({ openDuration: 100 });
    breaker.trip();
    await pass(100);

    await errorOf(breaker.execute(leaveAndFail(caller), { signal: caller.signal }));
    expect(breaker.state).toBe('half-open');

    await breaker.execute(() => 'probe');
    expect(breaker.state).toBe('closed');
  });

  it('is not answered for, and handleIf is not asked', async () => {
    const caller = hiddenCaller();
    const [handler, handleIf] = [vi.fn(() => 'answer'), vi.fn(() => true)];
    const policy = new FallbackPolicy(handler, { handleIf });
    const recorder = new EventRecorder(policy);

    expect(await errorOf(policy.execute(leaveAndFail(caller), { signal: caller.signal }))).toBe(down);

    expect(handleIf).not.toHaveBeenCalled();
    expect(handler).not.toHaveBeenCalled();
    expect(recorder.events).toEqual([]);
  });

  it('is neither counted, repeated nor answered for when it fails between two listeners', () => {
    const caller = new AbortController();
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const policy = ResiliencePolicy.wrap(new FallbackPolicy(() => 'answer'), new RetryPolicy(3), breaker);
    const onDelivery = vi.fn();
    let attempt: Attempt | undefined;
    const work = (context: unknown): Promise<never> => {
      attempt = context as Attempt;
      return new Promise(() => {});
    };
    const options = { signal: caller.signal };
    const call = new CountedExecution({ policy, work, options, keepsSlots: true, onDelivery });
    caller.signal.addEventListener('abort', () => call.settle(attempt as Attempt, false, down));
    call.start();
    caller.abort(reason);

    expect(onDelivery.mock.calls).toEqual([[false, down]]);
    expect(breaker.stats.total).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a call that succeeds when its caller has left, of which we were not told', () => {
  it('is a success, for its caller and for the breaker', async () => {
    const caller = hiddenCaller();
    const breaker = new CircuitBreakerPolicy();
    const work = async (): Promise<string> => {
      caller.abort(reason);
      return 'answer';
    };

    await expect(breaker.execute(work, { signal: caller.signal })).resolves.toBe('answer');
    expect(breaker.stats).toMatchObject({ total: 1, failures: 0 });
  });
});

describe('a call whose caller leaves while it waits, of which we were not told', () => {
  it('makes no other attempt, and rejects with the reason', async () => {
    const caller = hiddenCaller();
    const work = vi.fn(() => Promise.reject(down));
    const policy = new RetryPolicy({ attempts: 3, backoff: { delay: 100, factor: 1 } });
    const call = outcomeOf(policy.execute(work, { signal: caller.signal }));
    await pass(50);
    caller.abort(reason);
    await pass(50);

    expect(call).toEqual({ state: 'rejected', value: reason });
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('runs nothing with the slot that it is given, which goes to the next one', async () => {
    const caller = hiddenCaller();
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 2 });
    const occupant = new ManualWork();
    const work = vi.fn();
    const running = outcomeOf(bulkhead.execute(occupant.run));
    const left = outcomeOf(bulkhead.execute(work, { signal: caller.signal }));
    const next = outcomeOf(bulkhead.execute(() => 'next'));
    caller.abort(reason);
    occupant.call(0).answer();
    await microtasks();

    expect([running.state, left.value, next.value]).toEqual(['fulfilled', reason, 'next']);
    expect(work).not.toHaveBeenCalled();
    expect(bulkhead).toMatchObject({ active: 0, queued: 0 });
  });

  it('runs nothing when its turn comes', async () => {
    const caller = hiddenCaller();
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: 100 });
    const work = vi.fn();
    await limit.execute(() => 'the first token');
    const call = outcomeOf(limit.execute(work, { signal: caller.signal }));
    caller.abort(reason);
    await pass(100);

    expect(call).toEqual({ state: 'rejected', value: reason });
    expect(work).not.toHaveBeenCalled();
  });
});

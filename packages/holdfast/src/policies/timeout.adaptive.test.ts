import { describe, expect, it, vi } from 'vitest';
import { pass, START, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { adaptive, type AdaptiveTimeout } from '../adaptive/adaptive-timeout.js';
import { ResiliencePolicy } from '../policy.js';
import { createPolicy } from '../stages.js';
import { EventRecorder } from '../testing/index.js';
import { BudgetPolicy } from './budget.js';
import { BulkheadPolicy } from './bulkhead.js';
import { TimeoutPolicy } from './timeout.js';

const hang = (): Promise<never> => new Promise(() => {});
const takes = (milliseconds: number) => (): Promise<unknown> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds, 'answer'));

/** A limit of 100 ms that stays what it is, and shows what it is told. */
function watched(): { limit: AdaptiveTimeout; answered: number[]; cut: number[] } {
  const limit = adaptive({ initial: 100, shadow: true });
  const [answered, cut]: [number[], number[]] = [[], []];
  vi.spyOn(limit, 'record').mockImplementation((latencyMs) => void answered.push(latencyMs));
  vi.spyOn(limit, 'recordCut').mockImplementation((limitMs) => void cut.push(limitMs));

  return { limit, answered, cut };
}

useFakeClock();

describe('a timeout that learns', () => {
  it.each([
    ['alone', (limit: AdaptiveTimeout) => new TimeoutPolicy(limit)],
    ['with a name', (limit: AdaptiveTimeout) => new TimeoutPolicy({ name: 'quotes', timeout: limit })],
    ['as a stage', (limit: AdaptiveTimeout) => createPolicy({ timeout: limit })],
  ])('ends an attempt at the limit of the moment: %s', async (_how, policyOf) => {
    const policy = policyOf(adaptive({ initial: 100 }));
    const events = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(hang));
    await pass(99);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ code: 'TIMEOUT', timeoutMs: 100 });
    expect(events.of('timeout')).toMatchObject([{ timeoutMs: 100 }]);
  });

  it('asks for the limit anew for each call, and learns from those before', async () => {
    const policy = new TimeoutPolicy(adaptive({ initial: 100, samples: 2, estimator: 'mean' }));
    for (let call = 0; call < 2; call++) {
      const answer = outcomeOf(policy.execute(takes(20)));
      await pass(20);
      expect(answer.value).toBe('answer');
    }
    const call = outcomeOf(policy.execute(hang));
    await pass(39);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ timeoutMs: 40 });
  });

  it('has no limit that could be told beforehand', () => {
    expect(new TimeoutPolicy(adaptive()).timeout).toBeUndefined();
  });

  it('is recognised when it comes from another copy of the package', async () => {
    const foreign = { limitMs: 50, learnedMs: 50, maxMs: 50, record: vi.fn(), recordCut: vi.fn() };
    const call = outcomeOf(new TimeoutPolicy(foreign as unknown as AdaptiveTimeout).execute(hang));
    await pass(50);

    expect(call.value).toMatchObject({ timeoutMs: 50 });
    expect(foreign.recordCut).toHaveBeenCalledWith(50);
  });
});

describe('what a limit learns from', () => {
  it('is every answer, with the time that it took', async () => {
    const { limit, answered, cut } = watched();
    const call = outcomeOf(new TimeoutPolicy(limit).execute(takes(99)));
    await pass(99);

    expect(call.value).toBe('answer');
    expect({ answered, cut }).toEqual({ answered: [99], cut: [] });
  });

  it('is every call that it cut, as one that took at least so long', async () => {
    const { limit, answered, cut } = watched();
    const work = new ManualWork();
    const call = outcomeOf(new TimeoutPolicy(limit).execute(work.run));
    await pass(100);
    work.call(0).answer('late');
    await microtasks();

    expect(call.value).toMatchObject({ code: 'TIMEOUT' });
    expect({ answered, cut }).toEqual({ answered: [], cut: [100] });
  });

  it('is no failure, which may come at once', async () => {
    const { limit, answered, cut } = watched();
    await errorOf(new TimeoutPolicy(limit).execute(() => Promise.reject(new Error('down'))));

    expect({ answered, cut }).toEqual({ answered: [], cut: [] });
  });

  it('is no call that somebody else gave up', async () => {
    const { limit, answered, cut } = watched();
    const policy = new TimeoutPolicy(limit);
    const controller = new AbortController();
    const left = outcomeOf(policy.execute(hang, { signal: controller.signal }));
    const bounded = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(50), policy).execute(hang));
    const budgeted = outcomeOf(ResiliencePolicy.wrap(new BudgetPolicy(100), policy).execute(hang));
    await pass(50);
    controller.abort();
    await pass(50);

    expect([left.state, bounded.state, budgeted.state]).toEqual(['rejected', 'rejected', 'rejected']);
    expect({ answered, cut }).toEqual({ answered: [], cut: [] });
  });

  it('is the time outside of our own queues', async () => {
    const { limit, answered, cut } = watched();
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 9 });
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(limit), bulkhead);
    const busy = outcomeOf(bulkhead.execute(takes(40)));
    const quick = outcomeOf(policy.execute(takes(10)));
    const slow = outcomeOf(policy.execute(hang));
    await pass(100);

    expect([busy.state, quick.state, slow.state]).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect({ answered, cut }).toEqual({ answered: [10], cut: [50] });
  });

  it('is no call that spent most of its time in them', async () => {
    const { limit, cut } = watched();
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 9 });
    const busy = outcomeOf(bulkhead.execute(takes(51)));
    const slow = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(limit), bulkhead).execute(hang));
    await pass(100);

    expect([busy.state, slow.state]).toEqual(['fulfilled', 'rejected']);
    expect(cut).toEqual([]);
  });

  it('is an answer within an earlier deadline too', async () => {
    const { limit, answered } = watched();
    const call = outcomeOf(ResiliencePolicy.wrap(new BudgetPolicy(50), new TimeoutPolicy(limit)).execute(takes(30)));
    await pass(30);

    expect(call.value).toBe('answer');
    expect(answered).toEqual([30]);
  });

  it('lets a listener end the call, whose outcome is then that', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const limit = adaptive({ initial: 100, onLimit: () => controller.abort(reason) });
    const call = outcomeOf(new TimeoutPolicy(limit).execute(hang, { signal: controller.signal }));
    await pass(100);

    expect(call.value).toBe(reason);
    expect(Date.now()).toBe(START + 100);
  });
});

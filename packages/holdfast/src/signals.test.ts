import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { ManualWork } from '../test/manual-work.js';
import { microtasks, outcomeOf } from '../test/outcome.js';
import { WatchedController } from '../test/watched-signal.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { FallbackPolicy } from './policies/fallback.js';
import { OutboundRateLimitPolicy } from './policies/rate-limit.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy } from './policy.js';
import type { AttemptContext } from './scope.js';
import { FollowerList, followSignal, type Follower } from './signals.js';
import { EventRecorder, ScriptedDownstream } from './testing/index.js';

const reason = new Error('the caller left');

/** Followers that write down whom the abort reached. */
function witness(seen: unknown[], name: string, andThen: () => void = () => {}): Follower {
  return {
    onAbort(given) {
      seen.push([name, given]);
      andThen();
    },
  };
}

useFakeClock();

describe('followers', () => {
  it('are aborted once, in the order in which they came', () => {
    const seen: unknown[] = [];
    const list = new FollowerList();
    for (const name of ['a', 'b', 'c']) list.add(witness(seen, name));
    list.abortAll(reason);
    list.abortAll(new Error('again'));

    expect(seen).toEqual([
      ['a', reason],
      ['b', reason],
      ['c', reason],
    ]);
    expect(list.isEmpty).toBe(true);
  });

  it.each([
    [0, ['b', 'c']],
    [1, ['a', 'c']],
    [2, ['a', 'b']],
  ])('that have left are not aborted, wherever they stood (%d)', (leaves, left) => {
    const seen: [string][] = [];
    const list = new FollowerList();
    const links = ['a', 'b', 'c'].map((name) => list.add(witness(seen, name)));
    links[leaves]?.cut();
    links[leaves]?.cut();
    list.abortAll(reason);

    expect(seen.map(([name]) => name)).toEqual(left);
  });

  it('may leave, and make others leave, while they are aborted', () => {
    const seen: [string][] = [];
    const list = new FollowerList();
    const links = ['a', 'b', 'c'].map((name, index) => list.add(witness(seen, name, () => links[index + 1]?.cut())));
    list.abortAll(reason);

    expect(seen.map(([name]) => name)).toEqual(['a', 'c']);
  });

  it('that are dismissed are never aborted', () => {
    const seen: unknown[] = [];
    const list = new FollowerList();
    const link = list.add(witness(seen, 'a'));
    list.dismissAll();
    list.abortAll(reason);
    link.cut();

    expect(seen).toEqual([]);
    expect(list.isEmpty).toBe(true);
  });
});

describe('a signal of the platform', () => {
  it('has one listener of ours, however many follow, as long as one does', () => {
    const controller = new WatchedController();
    const links = Array.from({ length: 100 }, () => followSignal(controller.signal, witness([], 'one')));
    expect(controller.listeners).toBe(1);

    for (const link of links.slice(1)) link.cut();
    expect(controller.listeners).toBe(1);
    links[0]?.cut();
    expect(controller.listeners).toBe(0);

    followSignal(controller.signal, witness([], 'later'));
    expect(controller.listeners).toBe(1);
  });

  it('aborts all who follow with its reason, and those of another signal not', () => {
    const [first, second] = [new WatchedController(), new WatchedController()];
    const seen: unknown[] = [];
    followSignal(first.signal, witness(seen, 'a'));
    followSignal(first.signal, witness(seen, 'b'));
    followSignal(second.signal, witness(seen, 'other'));
    first.abort(reason);

    expect(seen).toEqual([
      ['a', reason],
      ['b', reason],
    ]);
    expect([first.listeners, second.listeners]).toEqual([0, 1]);
  });
});

describe('the signal of an attempt', () => {
  /** How many controllers are made while `act` runs. */
  async function controllersMadeBy(act: () => Promise<unknown>): Promise<number> {
    let made = 0;
    class CountedController extends AbortController {
      constructor() {
        super();
        made += 1;
      }
    }
    vi.stubGlobal('AbortController', CountedController);
    await act().catch(() => {});
    vi.unstubAllGlobals();

    return made;
  }

  it('is made when somebody asks for it, once, and not before', async () => {
    const { signal } = new WatchedController();
    const policy = ResiliencePolicy.wrap(
      retry(),
      new CircuitBreakerPolicy(),
      new TimeoutPolicy(5),
      new BulkheadPolicy(),
    );
    const ask = (context: AttemptContext): boolean => context.signal === context.signal;

    expect(await controllersMadeBy(() => policy.execute(() => Promise.resolve('answer'), { signal }))).toBe(0);
    expect(await controllersMadeBy(() => policy.execute(ask, { signal }))).toBe(1);
  });

  it('is not made for a call that is refused', async () => {
    const { signal } = new WatchedController();
    const [breaker, bulkhead] = [new CircuitBreakerPolicy(), new BulkheadPolicy({ maxConcurrent: 1 })];
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 1_000 });
    const occupant = new ManualWork();
    breaker.trip();
    outcomeOf(bulkhead.execute(occupant.run));
    await limit.execute(() => 'the only token');

    for (const policy of [breaker, bulkhead, limit]) {
      const work = vi.fn(({ signal: own }: AttemptContext) => own);
      expect(await controllersMadeBy(() => policy.execute(work, { signal }))).toBe(0);
      expect(work).not.toHaveBeenCalled();
    }
    occupant.call(0).answer();
    await microtasks();
  });
});

const retry = (): RetryPolicy => new RetryPolicy({ attempts: 3, backoff: { delay: 1, factor: 1 } });
const everyPolicy: [string, () => ResiliencePolicy][] = [
  ['retry', retry],
  ['timeout', () => new TimeoutPolicy(5)],
  ['circuit breaker', () => new CircuitBreakerPolicy({ minimumCalls: 5, openDuration: 3 })],
  ['bulkhead', () => new BulkheadPolicy({ maxConcurrent: 5, maxQueue: 40, queueTimeout: 20 })],
  ['outbound rate limit', () => new OutboundRateLimitPolicy({ limit: 10, interval: 10, maxWait: 30 })],
  ['fallback', () => new FallbackPolicy(() => Promise.resolve('answer'))],
  ['no policy', () => ResiliencePolicy.wrap()],
  [
    'all of them',
    () =>
      ResiliencePolicy.wrap(
        new FallbackPolicy(() => 'answer'),
        retry(),
        new CircuitBreakerPolicy({ minimumCalls: 20, openDuration: 5 }),
        new OutboundRateLimitPolicy({ limit: 30, interval: 10, maxWait: 10 }),
        new TimeoutPolicy(20),
        new BulkheadPolicy({ maxConcurrent: 20, maxQueue: 5, queueTimeout: 10 }),
      ),
  ],
];

describe.each(everyPolicy)('a long-lived signal under %s', (_name, create) => {
  const steps = [
    { answer: 1 },
    { fail: 503 },
    { answer: 2, after: 3 },
    { fail: 503, after: 3 },
    { hang: true },
  ] as const;
  const fiftyCalls = (policy: ResiliencePolicy, signal: AbortSignal): ReturnType<typeof outcomeOf>[] => {
    const limited = ResiliencePolicy.wrap(new TimeoutPolicy(50), policy);

    return Array.from({ length: 50 }, (_, index) => {
      const downstream = new ScriptedDownstream([steps[index % steps.length] as (typeof steps)[number]]);
      return outcomeOf(limited.execute(downstream.call, { signal }));
    });
  };

  it('has no listener left after a thousand calls, and never had more than one', async () => {
    const controller = new WatchedController();
    const add = vi.spyOn(controller.signal, 'addEventListener');
    const remove = vi.spyOn(controller.signal, 'removeEventListener');
    const policy = create();
    let pending = 0;
    for (let batch = 0; batch < 20; batch++) {
      const outcomes = fiftyCalls(policy, controller.signal);
      expect(controller.listeners).toBeLessThanOrEqual(1);
      await pass(50);
      expect(controller.listeners).toBe(0);
      pending += outcomes.filter(({ state }) => state === 'pending').length;
    }

    expect(pending).toBe(0);
    expect(add).toHaveBeenCalled();
    expect(remove).toHaveBeenCalledTimes(add.mock.calls.length);
  });

  it('has none left when it aborts all of them, each with the reason itself', async () => {
    const controller = new WatchedController();
    const outcomes = fiftyCalls(create(), controller.signal);
    await microtasks();
    const pending = outcomes.filter(({ state }) => state === 'pending');
    controller.abort(reason);
    await microtasks();

    expect(pending.length).toBeGreaterThan(0);
    expect(new Set(pending.map(({ value }) => value))).toEqual(new Set([reason]));
    expect(controller.listeners).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the reason of a caller's abort", () => {
  it('reaches every layer and the work as the same object', async () => {
    const controller = new WatchedController();
    const given = { what: 'not even an error' };
    const signals: AbortSignal[] = [];
    const handler = vi.fn();
    const policy = ResiliencePolicy.wrap(
      new FallbackPolicy(handler, { handleIf: () => true }),
      new TimeoutPolicy(1_000),
      new RetryPolicy({ retryIf: () => true }),
      new CircuitBreakerPolicy({ minimumCalls: 1, recordIf: () => true }),
      new OutboundRateLimitPolicy({ limit: 1, interval: 1 }),
      new TimeoutPolicy(500),
      new BulkheadPolicy(),
    );
    const recorder = new EventRecorder(policy);
    const call = outcomeOf(
      policy.execute(
        ({ signal }) => {
          signals.push(signal);
          return new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(new Error('wrapped', { cause: signal.reason }))),
          );
        },
        { signal: controller.signal },
      ),
    );
    controller.abort(given);
    await microtasks();

    expect(call.value).toBe(given);
    expect(signals[0]?.reason).toBe(given);
    expect(handler).not.toHaveBeenCalled();
    expect(recorder.events).toEqual([]);
  });

  it('says nothing about the dependency: a hundred cancelled calls leave a breaker closed', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const policy = ResiliencePolicy.wrap(new RetryPolicy(3), breaker, new TimeoutPolicy(5_000));
    const recorder = new EventRecorder(policy);
    const controllers = Array.from({ length: 100 }, () => new WatchedController());
    const calls = controllers.map(({ signal }) => outcomeOf(policy.execute(new ManualWork().run, { signal })));
    await pass(20);
    const reasons = controllers.map((controller, index) => {
      const own = new Error(`caller ${index} left`);
      controller.abort(own);
      return own;
    });
    await microtasks();

    expect(calls.every(({ value }, index) => value === reasons[index])).toBe(true);
    expect(breaker.state).toBe('closed');
    expect(breaker.stats.total).toBe(0);
    await pass(10_000);
    expect(recorder.events).toEqual([]);
  });
});

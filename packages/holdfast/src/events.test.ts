import { afterEach, describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { ManualWork } from '../test/manual-work.js';
import { microtasks, outcomeOf } from '../test/outcome.js';
import { subscribe, type ResilienceEvent } from './events.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { FallbackPolicy } from './policies/fallback.js';
import { OutboundRateLimitPolicy } from './policies/rate-limit.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy } from './policy.js';
import { EventRecorder } from './testing/index.js';

const STEADY = { delay: 10, factor: 1 } as const;
const down = new Error('down');
const hang = (): Promise<never> => new Promise(() => {});

useFakeClock();

/** Everything that a policy emits about one call, with the source or without. */
async function eventsOf(policy: ResiliencePolicy, work: () => unknown, source?: string): Promise<ResilienceEvent[]> {
  const recorder = new EventRecorder(policy);
  outcomeOf(policy.execute(work, source === undefined ? {} : { source }));
  await pass(1_000);
  recorder.stop();

  return recorder.events;
}

const fail = (): Promise<never> => Promise.reject(down);
const tripped = (): CircuitBreakerPolicy => {
  const breaker = new CircuitBreakerPolicy({ name: 'carrier', openDuration: '30s' });
  breaker.trip();
  return breaker;
};
const full = (): BulkheadPolicy => {
  const bulkhead = new BulkheadPolicy({ name: 'exports', maxConcurrent: 1 });
  outcomeOf(bulkhead.execute(hang));
  return bulkhead;
};
const spent = (): OutboundRateLimitPolicy => {
  const limit = new OutboundRateLimitPolicy({ name: 'partner', limit: 1, interval: 4_000 });
  outcomeOf(limit.execute(() => 1));
  return limit;
};

const calls: [string, () => ResiliencePolicy, () => unknown, object][] = [
  [
    'retry',
    () => new RetryPolicy({ name: 'quotes', attempts: 2, backoff: STEADY }),
    fail,
    { policy: 'quotes', attempt: 1, delayMs: 10, error: down },
  ],
  ['timeout', () => new TimeoutPolicy({ name: 'quotes', timeout: 50 }), hang, { policy: 'quotes', timeoutMs: 50 }],
  ['circuit-rejected', tripped, () => 1, { policy: 'carrier', retryAfterMs: 30_000 }],
  ['bulkhead-rejected', full, () => 1, { policy: 'exports', reason: 'full', active: 1, queued: 0 }],
  ['rate-limited', spent, () => 1, { policy: 'partner', retryAfterMs: 4_000 }],
  ['fallback', () => new FallbackPolicy(() => 1, { name: 'flat rates' }), fail, { policy: 'flat rates', error: down }],
];

describe.each(calls)('the event %s', (type, create, work, fields) => {
  it('has exactly its fields, and the source of the call', async () => {
    expect(await eventsOf(create(), work, 'Job.run')).toEqual([{ type, source: 'Job.run', ...fields }]);
  });

  it('has a source that is undefined when there is none', async () => {
    const [event] = await eventsOf(create(), work);

    expect(Object.keys(event as object).toSorted()).toEqual(['type', 'source', ...Object.keys(fields)].toSorted());
    expect(event).toMatchObject({ source: undefined });
  });
});

describe('the transitions of a circuit breaker', () => {
  it('have the source of the call that caused them', async () => {
    const breaker = new CircuitBreakerPolicy({ name: 'carrier', minimumCalls: 1, openDuration: 100 });
    const recorder = new EventRecorder(breaker);
    outcomeOf(breaker.execute(fail, { source: 'Job.run' }));
    await pass(100);
    await breaker.execute(() => 1, { source: 'Job.probe' });

    expect(recorder.events).toEqual([
      { type: 'circuit-open', policy: 'carrier', source: 'Job.run', from: 'closed', to: 'open' },
      { type: 'circuit-half-open', policy: 'carrier', source: 'Job.probe', from: 'open', to: 'half-open' },
      { type: 'circuit-closed', policy: 'carrier', source: 'Job.probe', from: 'half-open', to: 'closed' },
    ]);
  });

  it('have no source when no call with one caused them', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, openDuration: 100 });
    const recorder = new EventRecorder(breaker);
    breaker.trip();
    await pass(100);
    void breaker.state;
    breaker.reset();
    outcomeOf(breaker.execute(fail));
    await microtasks();

    expect(recorder.types).toEqual(['circuit-open', 'circuit-half-open', 'circuit-closed', 'circuit-open']);
    expect(recorder.events.filter((event) => 'source' in event)).toEqual([]);
  });
});

describe('the names in events', () => {
  it.each([
    ['retry', new RetryPolicy()],
    ['timeout', new TimeoutPolicy(5)],
    ['circuit-breaker', new CircuitBreakerPolicy()],
    ['bulkhead', new BulkheadPolicy()],
    ['outbound-rate-limit', new OutboundRateLimitPolicy({ limit: 1, interval: 1 })],
    ['fallback', new FallbackPolicy(() => 1)],
  ])('are "%s" for a policy that was not named', (name, policy) => {
    expect(policy.name).toBe(name);
  });
});

describe('who hears of events', () => {
  const policy = (): RetryPolicy => new RetryPolicy({ attempts: 2, backoff: STEADY });

  it('is every subscriber of the process, then those of the policy, each in order', async () => {
    const heard: string[] = [];
    const retry = policy();
    const stop = [
      retry.subscribe(() => heard.push('policy 1')),
      subscribe(() => heard.push('process 1')),
      retry.subscribe(() => heard.push('policy 2')),
      subscribe(() => heard.push('process 2')),
    ];
    await eventsOf(retry, fail);
    stop.forEach((cancel) => cancel());

    expect(heard).toEqual(['process 1', 'process 2', 'policy 1', 'policy 2']);
  });

  it('is nobody who has unsubscribed, be it twice', async () => {
    const [ofProcess, ofPolicy] = [vi.fn(), vi.fn()];
    const retry = policy();
    const other = vi.fn();
    const stop = [subscribe(ofProcess), retry.subscribe(ofPolicy)];
    retry.subscribe(other);
    stop.forEach((cancel) => cancel());
    stop.forEach((cancel) => cancel());
    await eventsOf(retry, fail);

    expect(ofProcess).not.toHaveBeenCalled();
    expect(ofPolicy).not.toHaveBeenCalled();
    expect(other).toHaveBeenCalledTimes(1);
  });

  it('is nobody who listens to another policy', async () => {
    const recorder = new EventRecorder(policy());
    await eventsOf(policy(), fail);

    expect(recorder.events).toEqual([]);
  });

  it.each([undefined, null, {}, 'retry'])('is a function, and %o is refused at once', (listener) => {
    for (const target of [
      { subscribe },
      new RetryPolicy(),
      ResiliencePolicy.wrap(new RetryPolicy()),
      ResiliencePolicy.wrap(),
    ]) {
      const listen = (): unknown => target.subscribe(listener as never);

      expect(listen).toThrow(TypeError);
      expect(listen).toThrow('listener: expected a function, got ');
    }
  });

  it('is one and the same listener as often as it has subscribed', async () => {
    const listener = vi.fn();
    const retry = policy();
    const stop = [retry.subscribe(listener), retry.subscribe(listener)];
    stop[0]?.();
    await eventsOf(retry, fail);

    expect(listener).toHaveBeenCalledTimes(1);
  });

  it('may unsubscribe, and subscribe others, while an event is delivered', async () => {
    const retry = new RetryPolicy({ attempts: 3, backoff: STEADY });
    const [second, late] = [vi.fn(), vi.fn()];
    const stop = retry.subscribe(() => {
      stop();
      retry.subscribe(late);
    });
    retry.subscribe(second);
    await eventsOf(retry, fail);

    expect(second).toHaveBeenCalledTimes(2);
    expect(late).toHaveBeenCalledTimes(1);
  });
});

describe('a listener that throws', () => {
  const failure = new Error('of a listener');
  afterEach(() => vi.restoreAllMocks());
  const throwing = (): never => {
    throw failure;
  };

  it('changes no outcome and keeps no other from hearing, and is reported once', async () => {
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    const retry = new RetryPolicy({ attempts: 3, backoff: STEADY });
    const stop = [subscribe(throwing), retry.subscribe(throwing)];
    const heard = new EventRecorder(retry);
    let runs = 0;
    const call = outcomeOf(retry.execute(() => (++runs < 3 ? fail() : 'answer')));
    await pass(100);
    stop.forEach((cancel) => cancel());

    expect(call).toEqual({ state: 'fulfilled', value: 'answer' });
    expect(heard.types).toEqual(['retry', 'retry']);
    expect(report.mock.calls).toEqual([
      [expect.stringContaining('"retry"'), failure],
      [expect.stringContaining('"retry"'), failure],
    ]);
  });

  it('changes no outcome of any policy', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    for (const [type, create, work] of calls) {
      const [loud, quiet] = [create(), create()];
      loud.subscribe(throwing);
      const seen = new EventRecorder(loud);
      const [first, second] = [loud, quiet].map((policy) => outcomeOf(policy.execute(work)));
      await pass(1_000);

      expect(seen.types).toEqual([type]);
      expect(first).toEqual(second);
    }
  });

  it('leaves no slot, probe or timer behind', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1, queueTimeout: 50 });
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, openDuration: 100 });
    const policy = ResiliencePolicy.wrap(
      new RetryPolicy({ backoff: STEADY }),
      breaker,
      new TimeoutPolicy(20),
      bulkhead,
    );
    policy.subscribe(throwing);
    const work = new ManualWork();
    outcomeOf(bulkhead.execute(work.run));
    const waiting = outcomeOf(policy.execute(() => 'answer'));
    await pass(500);
    work.call(0).answer();
    await microtasks();
    await pass(100);

    expect(waiting.state).toBe('rejected');
    expect([bulkhead.active, bulkhead.queued]).toEqual([0, 0]);
    breaker.reset();
    await expect(policy.execute(() => 'answer')).resolves.toBe('answer');
  });

  it('may throw anything', async () => {
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    const retry = new RetryPolicy({ attempts: 2, backoff: STEADY });
    retry.subscribe(() => {
      // oxlint-disable-next-line typescript/only-throw-error
      throw undefined as unknown as Error;
    });
    await eventsOf(retry, fail);

    expect(report).toHaveBeenCalledTimes(1);
  });
});

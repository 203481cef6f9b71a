import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, outcomeOf } from '../../test/outcome.js';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
} from '../index.js';
import { EventRecorder } from '../testing/index.js';

useFakeClock();

const hang = (): Promise<never> => new Promise(() => {});
const outage = new Error('outage');

describe('a timeout inside a breaker', () => {
  it('counts as a failure of the dependency', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const policy = ResiliencePolicy.wrap(breaker, new TimeoutPolicy(100));
    const call = outcomeOf(policy.execute(hang));

    await pass(99);
    expect(call.state).toBe('pending');
    await pass(1);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.state).toBe('open');
  });

  it('is judged by recordIf', async () => {
    const breaker = new CircuitBreakerPolicy({ recordIf: (error) => !(error instanceof ResilienceTimeoutError) });
    const call = outcomeOf(ResiliencePolicy.wrap(breaker, new TimeoutPolicy(100)).execute(hang));

    await pass(100);

    expect(call.state).toBe('rejected');
    expect(breaker.stats.total).toBe(0);
  });
});

describe('a call that a timeout around the breaker cuts', () => {
  /** A call that enters the breaker after `delay` of the 100 ms that a timeout around it allows, and hangs there. */
  async function cutAfter(delay: number, breaker: CircuitBreakerPolicy): Promise<void> {
    const backoff = { delay, jitter: 'none' } as const;
    const retry = new RetryPolicy({ attempts: 2, backoff, retryIf: () => true });
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), retry, breaker);
    const notFound = Object.assign(new Error('not found'), { status: 404 });
    const call = outcomeOf(policy.execute(({ attempt }) => (attempt === 1 ? Promise.reject(notFound) : hang())));
    await pass(100);
    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
  }

  it('counts as failed when it has hung for the whole limit', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const call = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(100), breaker).execute(hang));

    await pass(99);
    expect(breaker.stats.total).toBe(0);
    await pass(1);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.state).toBe('open');
  });

  it.each([
    [50, 1],
    [51, 0],
  ])('and that entered the breaker after %d ms of 100 counts %d times', async (delay, failures) => {
    const breaker = new CircuitBreakerPolicy();

    await cutAfter(delay, breaker);

    expect(breaker.stats).toMatchObject({ total: failures, failures });
  });

  it('is shown to recordIf as the error of that timeout', async () => {
    const recordIf = vi.fn(() => false);
    const breaker = new CircuitBreakerPolicy({ recordIf });
    const call = outcomeOf(
      ResiliencePolicy.wrap(new TimeoutPolicy({ name: 'outer', timeout: 100 }), breaker).execute(hang),
    );

    await pass(100);

    expect(recordIf).toHaveBeenCalledExactlyOnceWith(call.value);
    expect(call.value).toMatchObject({ policy: 'outer', timeoutMs: 100 });
    expect(breaker.stats.total).toBe(0);
  });

  it('stays a timeout when recordIf throws, which is reported, and counts', async () => {
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    const breaker = new CircuitBreakerPolicy({
      minimumCalls: 1,
      recordIf: () => {
        throw new Error('confused');
      },
    });
    const call = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(100), breaker).execute(hang));

    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(report).toHaveBeenCalledTimes(1);
    expect(breaker.state).toBe('open');
  });

  it('counts too when the timeout is another policy whose signal was passed on', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const call = outcomeOf(new TimeoutPolicy(100).execute(({ signal }) => breaker.execute(hang, { signal })));

    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.state).toBe('open');
  });

  it.each<[string, unknown]>([
    ['an error of the caller', new Error('left')],
    ['the reason of AbortSignal.timeout()', new DOMException('too late', 'TimeoutError')],
    ['no reason', undefined],
  ])('does not count when what cuts it is %s', async (_what, reason) => {
    const breaker = new CircuitBreakerPolicy({ recordIf: () => true });
    const controller = new AbortController();
    const call = outcomeOf(breaker.execute(hang, { signal: controller.signal }));
    await pass(60_000);

    controller.abort(reason);
    await pass(0);

    expect(call.state).toBe('rejected');
    expect(breaker.stats.total).toBe(0);
  });

  it.each([
    [0, 'open'],
    [50, 'open'],
    [51, 'half-open'],
  ] as const)('as a probe that began after %d ms leaves the breaker %s', async (delay, state) => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000 });
    breaker.trip();
    await pass(1_000);

    await cutAfter(delay, breaker);

    expect(breaker.state).toBe(state);
    if (state === 'half-open') {
      expect(await breaker.execute(() => 'the place is free')).toBe('the place is free');
      expect(breaker.state).toBe('closed');
    }
  });
});

describe('time in our own queues', () => {
  /** A call that waits for `wait` in a bulkhead's queue and hangs after that, under a timeout of 100 ms. */
  async function waitThenHang(
    wait: number,
    stages: (bulkhead: BulkheadPolicy) => ResiliencePolicy[],
  ): Promise<unknown> {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    const work = new ManualWork();
    const occupant = bulkhead.execute(work.run);
    const call = outcomeOf(ResiliencePolicy.wrap(...stages(bulkhead)).execute(hang));
    await pass(Math.min(wait, 100));
    if (wait < 100) work.call(0).answer();
    await pass(100 - Math.min(wait, 100));
    work.call(0).answer();
    await occupant;

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    return call.value;
  }

  it.each([
    [0, 1],
    [50, 1],
    [51, 0],
    [100, 0],
  ])('of %d ms makes an attempt of 100 ms count %d times', async (wait, failures) => {
    const breaker = new CircuitBreakerPolicy();

    await waitThenHang(wait, (bulkhead) => [breaker, new TimeoutPolicy(100), bulkhead]);

    expect(breaker.stats).toMatchObject({ total: failures, failures });
  });

  it.each([
    [50, 1],
    [51, 0],
  ])('of %d ms under a timeout around the breaker makes a call count %d times', async (wait, failures) => {
    const breaker = new CircuitBreakerPolicy();

    await waitThenHang(wait, (bulkhead) => [new TimeoutPolicy(100), breaker, bulkhead]);

    expect(breaker.stats).toMatchObject({ total: failures, failures });
  });

  it.each([
    [10, 1],
    [11, 0],
  ])(
    'of %d ms is taken off what the call ran inside, here 60 ms of 100, and it counts %d times',
    async (wait, failures) => {
      const breaker = new CircuitBreakerPolicy({ recordIf: (error) => error instanceof ResilienceTimeoutError });
      const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
      const work = new ManualWork();
      const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 40, jitter: 'none' } });
      const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), retry, breaker, bulkhead);
      const call = outcomeOf(policy.execute(({ attempt }) => (attempt === 1 ? Promise.reject(outage) : hang())));
      await pass(39);
      const occupant = bulkhead.execute(work.run);
      await pass(1 + wait);
      work.call(0).answer();
      await occupant;

      await pass(60 - wait);

      expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
      expect(breaker.stats.failures).toBe(failures);
    },
  );

  it('that was spent before the breaker is not taken off what the call ran inside', async () => {
    const breaker = new CircuitBreakerPolicy();

    await waitThenHang(50, (bulkhead) => [new TimeoutPolicy(100), bulkhead, breaker]);

    expect(breaker.stats.failures).toBe(1);
  });

  it('counts for a token of the rate limit as for a slot', async () => {
    const breaker = new CircuitBreakerPolicy();
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 60, maxWait: 60 });
    await limit.execute(() => 'the first token');
    const call = outcomeOf(ResiliencePolicy.wrap(breaker, new TimeoutPolicy(100), limit).execute(hang));

    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.stats.total).toBe(0);
  });

  it('leaves event, error and retry of the timeout as they are', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 10, jitter: 'none' } });
    const policy = ResiliencePolicy.wrap(retry, breaker, new TimeoutPolicy(100), bulkhead);
    const recorder = new EventRecorder(policy);
    const work = new ManualWork();
    const occupant = bulkhead.execute(work.run);
    const call = outcomeOf(policy.execute(() => 'answer'));

    await pass(105);
    expect(recorder.types).toEqual(['timeout', 'retry']);
    work.call(0).answer();
    await occupant;
    await pass(5);

    expect(call).toEqual({ state: 'fulfilled', value: 'answer' });
    expect(breaker.stats).toEqual({ total: 1, failures: 0, failureRate: 0 });
  });

  it('leaves a half-open period undecided, with its place free', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000 });
    breaker.trip();
    await pass(1_000);

    await waitThenHang(80, (bulkhead) => [breaker, new TimeoutPolicy(100), bulkhead]);

    expect(breaker.state).toBe('half-open');
    expect(await errorOf(breaker.execute(() => Promise.reject(outage)))).toBe(outage);
    expect(breaker.state).toBe('open');
  });

  it('of an earlier attempt does not excuse the next one', async () => {
    const breaker = new CircuitBreakerPolicy();
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 60, maxWait: 60 });
    await limit.execute(() => 'the first token');
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 60, jitter: 'none' } });
    const call = outcomeOf(ResiliencePolicy.wrap(retry, breaker, new TimeoutPolicy(100), limit).execute(hang));

    await pass(260);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.stats).toMatchObject({ total: 1, failures: 1 });
  });
});

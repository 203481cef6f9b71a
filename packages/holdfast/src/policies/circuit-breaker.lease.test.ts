import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import {
  adaptive,
  CircuitBreakerPolicy,
  CircuitOpenError,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  TimeoutPolicy,
} from '../index.js';
import { EventRecorder } from '../testing/index.js';
import type { CircuitBreakerOptions } from './circuit-breaker-options.js';

useFakeClock();

const outage = new Error('outage');

/** A breaker that has just become half-open. */
async function halfOpen(options: CircuitBreakerOptions = {}): Promise<CircuitBreakerPolicy> {
  const breaker = new CircuitBreakerPolicy({ openDuration: 1_000, ...options });
  breaker.trip();
  await pass(breaker.options.openDuration);
  expect(breaker.state).toBe('half-open');

  return breaker;
}

describe('the lease of a probe', () => {
  it.each<[string, CircuitBreakerOptions, number]>([
    ['30 s by default', {}, 30_000],
    ['openDuration when that is longer', { openDuration: '2m' }, 120_000],
    ['probeLease when that is set', { probeLease: 500 }, 500],
    ['probeLease also below openDuration', { openDuration: '2m', probeLease: '1s' }, 1_000],
  ])('is %s, then the probe counts as failed', async (_what, options, lease) => {
    const breaker = await halfOpen(options);
    const work = new ManualWork();
    void breaker.execute(work.run);

    await pass(lease - 1);
    expect(breaker.state).toBe('half-open');
    expect(await errorOf(breaker.execute(work.run))).toMatchObject({ retryAfterMs: 0 });
    await pass(1);
    expect(breaker.state).toBe('open');
  });

  it.each([
    ['the timeout inside and a second when that is longest', '1m', 61_000],
    ['30 s when the timeout inside and a second are shorter', '28s', 30_000],
    ['the ceiling of a learned limit and a second', adaptive({ initial: '50s', max: '1m' }), 61_000],
  ] as const)('is %s', async (_what, timeout, lease) => {
    const breaker = await halfOpen();
    // The wait for a token is outside of the limit, so that the probe outlives its lease.
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: '20s', maxWait: '20s' });
    await limit.execute(() => 'the first token');
    const stages = [new TimeoutPolicy('9m'), breaker, limit, new TimeoutPolicy(timeout)];
    const probing = outcomeOf(ResiliencePolicy.wrap(...stages).execute(new ManualWork().run));

    await pass(lease - 1);
    expect(breaker.state).toBe('half-open');
    await pass(1);
    expect(breaker.state).toBe('open');

    await pass(20_000);
    expect(probing.state).toBe('rejected');
  });

  it('ends with the next call too, which is refused for a full openDuration', async () => {
    const breaker = await halfOpen();
    const recorder = new EventRecorder(breaker);
    const work = new ManualWork();
    void breaker.execute(work.run);
    await pass(40_000);

    const error = await errorOf(breaker.execute(work.run, { source: 'next' }));

    expect(error).toMatchObject({ retryAfterMs: 1_000 });
    expect(recorder.types).toEqual(['circuit-open', 'circuit-rejected']);
    expect(work.calls).toHaveLength(1);
  });

  it.each<['answer' | 'fail']>([['answer'], ['fail']])('drops what the probe brings afterwards: %s', async (how) => {
    const breaker = await halfOpen({ probeLease: 500 });
    const work = new ManualWork();
    const late = outcomeOf(breaker.execute(work.run));
    await pass(500);
    expect(breaker.state).toBe('open');
    await pass(1_000);
    const second = outcomeOf(breaker.execute(work.run));

    work.call(0)[how](outage);
    await microtasks();

    expect(late.state).not.toBe('pending');
    expect(breaker.state).toBe('half-open');
    work.call(1).answer();
    await microtasks();
    expect(second.state).toBe('fulfilled');
    expect(breaker.state).toBe('closed');
  });

  it('holds although nobody looked before the late outcome came', async () => {
    const breaker = await halfOpen({ probeLease: 500 });
    const work = new ManualWork();
    const late = breaker.execute(work.run);
    await pass(500);

    work.call(0).answer();
    await late;

    expect(breaker.state).toBe('open');
  });

  it('lets a probe that returns in time decide, however short openDuration is', async () => {
    const breaker = await halfOpen({ openDuration: 0 });
    const work = new ManualWork();
    const probing = breaker.execute(work.run);
    await pass(29_999);

    work.call(0).answer();
    await probing;

    expect(breaker.state).toBe('closed');
  });

  it('of a second probe ends after that of the first', async () => {
    const breaker = await halfOpen({ halfOpenMaxCalls: 2, failureRateThreshold: 60, probeLease: 500 });
    const work = new ManualWork();
    void breaker.execute(work.run);
    await pass(300);
    void breaker.execute(work.run);

    await pass(200);
    expect(breaker.state).toBe('half-open');
    await pass(299);
    expect(breaker.state).toBe('half-open');
    await pass(1);
    expect(breaker.state).toBe('open');
  });

  it('makes a lost probe one that failed, and no slow one', async () => {
    const rates = { slowCallDuration: 100, slowCallRateThreshold: 50, failureRateThreshold: 100 };
    const breaker = await halfOpen({ halfOpenMaxCalls: 2, probeLease: 500, ...rates });
    void breaker.execute(new ManualWork().run);
    await pass(500);
    expect(breaker.state).toBe('half-open');

    expect(await errorOf(breaker.execute(() => Promise.reject(outage)))).toBe(outage);

    expect(breaker.state).toBe('open');
  });

  it('ends for each probe by itself', async () => {
    const breaker = await halfOpen({ halfOpenMaxCalls: 3, failureRateThreshold: 60, probeLease: 500 });
    const work = new ManualWork();
    void breaker.execute(work.run);
    await pass(300);
    const second = breaker.execute(work.run);
    await pass(200);
    expect(breaker.state).toBe('half-open');
    await pass(100);

    work.call(1).answer();
    await second;
    expect(breaker.state).toBe('half-open');
    void breaker.execute(work.run);
    expect(await errorOf(breaker.execute(work.run))).toBeInstanceOf(CircuitOpenError);
    await pass(500);

    expect(breaker.state).toBe('open');
  });
});

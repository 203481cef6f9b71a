import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { CircuitBreakerPolicy, CircuitOpenError } from '../index.js';
import { EventRecorder } from '../testing/index.js';
import type { CircuitBreakerOptions } from './circuit-breaker-options.js';

useFakeClock();

const outage = new Error('outage');
const lagging = (options: CircuitBreakerOptions = {}): CircuitBreakerPolicy =>
  new CircuitBreakerPolicy({ slowCallDuration: 100, minimumCalls: 2, openDuration: 1_000, ...options });

/** Answers after so many milliseconds. */
async function answerAfter(breaker: CircuitBreakerPolicy, milliseconds: number): Promise<void> {
  const work = new ManualWork();
  const call = breaker.execute(work.run);
  await pass(milliseconds);
  work.call(0).answer();
  await call;
}

describe('a breaker that knows slow calls', () => {
  it('counts a call as slow from exactly slowCallDuration on', async () => {
    const breaker = lagging({ minimumCalls: 10 });

    await answerAfter(breaker, 99);
    expect(breaker.stats).toEqual({ total: 1, failures: 0, failureRate: 0, slowCalls: 0, slowCallRate: 0 });
    await answerAfter(breaker, 100);
    expect(breaker.stats).toEqual({ total: 2, failures: 0, failureRate: 0, slowCalls: 1, slowCallRate: 50 });
  });

  it('opens when all calls are slow, by default', async () => {
    const breaker = lagging();

    await answerAfter(breaker, 100);
    expect(breaker.state).toBe('closed');
    await answerAfter(breaker, 100);
    expect(breaker.state).toBe('open');
  });

  it('opens at exactly slowCallRateThreshold', async () => {
    const breaker = lagging({ slowCallRateThreshold: 50, minimumCalls: 4 });

    await answerAfter(breaker, 100);
    await answerAfter(breaker, 1);
    await answerAfter(breaker, 1);
    expect(breaker.state).toBe('closed');
    await answerAfter(breaker, 100);
    expect(breaker.state).toBe('open');
  });

  it('counts failures apart from slow calls, and a slow failure in both', async () => {
    const breaker = lagging({ minimumCalls: 10 });
    const work = new ManualWork();
    const call = breaker.execute(work.run);
    await pass(100);
    work.call(0).fail(outage);
    await errorOf(call);
    await errorOf(breaker.execute(() => Promise.reject(outage)));

    expect(breaker.stats).toEqual({ total: 2, failures: 2, failureRate: 100, slowCalls: 1, slowCallRate: 50 });
  });

  it('shows nothing of it in stats when it is off', async () => {
    const breaker = new CircuitBreakerPolicy();

    await answerAfter(breaker, 60_000);

    expect(breaker.stats).toEqual({ total: 1, failures: 0, failureRate: 0 });
  });
});

describe('a slow call in flight', () => {
  it('counts as soon as it is slow, seen by the next reader', async () => {
    const breaker = lagging();
    const work = new ManualWork();
    const calls = [breaker.execute(work.run), breaker.execute(work.run)].map(outcomeOf);

    await pass(99);
    expect(breaker.stats).toMatchObject({ total: 0, slowCalls: 0 });
    expect(breaker.state).toBe('closed');
    await pass(1);
    expect(breaker.stats).toMatchObject({ total: 0, slowCalls: 2, slowCallRate: 100 });
    expect(breaker.state).toBe('open');
    expect(calls.map((call) => call.state)).toEqual(['pending', 'pending']);
  });

  it('makes the next call the one that is refused, and its source the one of the event', async () => {
    const breaker = lagging();
    const recorder = new EventRecorder(breaker);
    const work = new ManualWork();
    void breaker.execute(work.run);
    void breaker.execute(work.run);
    await pass(100);

    expect(await errorOf(breaker.execute(work.run, { source: 'third' }))).toBeInstanceOf(CircuitOpenError);

    expect(work.calls).toHaveLength(2);
    expect(recorder.events[0]).toMatchObject({ type: 'circuit-open', source: 'third' });
  });

  it('does not open the breaker below minimumCalls, calls in flight that are not slow yet left out', async () => {
    const breaker = lagging({ minimumCalls: 3 });
    const work = new ManualWork();
    void breaker.execute(work.run);
    void breaker.execute(work.run);
    await pass(50);
    void breaker.execute(work.run);

    await pass(50);
    expect(breaker.state).toBe('closed');
    expect(breaker.stats.slowCalls).toBe(2);
    await pass(49);
    expect(breaker.state).toBe('closed');
    await pass(1);
    expect(breaker.state).toBe('open');
  });

  it('does not complete the minimumCalls of the failure rate', async () => {
    const breaker = lagging({ minimumCalls: 3 });
    const work = new ManualWork();
    void breaker.execute(work.run);
    void breaker.execute(work.run);
    await errorOf(breaker.execute(() => Promise.reject(outage)));

    await pass(100);

    expect(breaker.state).toBe('closed');
    expect(breaker.stats).toMatchObject({ total: 1, failureRate: 100, slowCalls: 2 });
  });

  it('does not count a second time when it returns', async () => {
    const breaker = lagging({ minimumCalls: 3 });
    const work = new ManualWork();
    const call = breaker.execute(work.run);
    await pass(150);
    expect(breaker.stats).toMatchObject({ total: 0, slowCalls: 1 });

    work.call(0).answer();
    await call;

    expect(breaker.stats).toMatchObject({ total: 1, slowCalls: 1, slowCallRate: 100 });
  });

  it('leaves the count when its caller gives it up', async () => {
    const breaker = lagging();
    const controllers = [new AbortController(), new AbortController()];
    for (const { signal } of controllers) outcomeOf(breaker.execute(() => new Promise(() => {}), { signal }));
    await pass(100);
    expect(breaker.stats.slowCalls).toBe(2);

    for (const controller of controllers) controller.abort();
    await microtasks();

    expect(breaker.stats).toMatchObject({ total: 0, slowCalls: 0, slowCallRate: 0 });
    expect(breaker.state).toBe('closed');
  });

  it('that returns between others leaves them counted', async () => {
    const breaker = lagging({ minimumCalls: 4, slidingWindow: { type: 'count', size: 4 } });
    const work = new ManualWork();
    const calls: Promise<unknown>[] = [];
    for (let call = 0; call < 3; call++) {
      calls.push(breaker.execute(work.run));
      await pass(10);
    }
    work.call(1).answer();
    await calls[1];
    expect(breaker.stats).toMatchObject({ total: 1, slowCalls: 0 });

    await pass(70);
    expect(breaker.stats.slowCalls).toBe(1);
    await pass(20);
    expect(breaker.stats.slowCalls).toBe(2);
    work.call(0).answer();
    await calls[0];
    expect(breaker.stats).toMatchObject({ total: 2, slowCalls: 2 });
    work.call(2).answer();
    await calls[2];
    expect(breaker.stats).toMatchObject({ total: 3, slowCalls: 2 });
  });

  it('of an earlier era does not open the breaker of a later one', async () => {
    const breaker = lagging({ minimumCalls: 1 });
    const work = new ManualWork();
    const old = breaker.execute(work.run);
    breaker.reset();

    await pass(100);
    expect(breaker.state).toBe('closed');
    work.call(0).answer();
    await old;

    expect(breaker.stats.total).toBe(0);
    expect(breaker.state).toBe('closed');
  });
});

describe('the end of a call', () => {
  it('that was slow in an earlier era leaves the count of this one alone', async () => {
    const breaker = lagging({ minimumCalls: 10 });
    const work = new ManualWork();
    const old = breaker.execute(work.run);
    await pass(100);
    expect(breaker.stats.slowCalls).toBe(1);
    breaker.reset();
    work.call(0).answer();
    await old;

    expect(breaker.stats).toMatchObject({ total: 0, slowCalls: 0, slowCallRate: 0 });
  });

  it('opens a breaker when it completes minimumCalls with slow ones in flight, though it was quick itself', async () => {
    const breaker = lagging({ slowCallRateThreshold: 50 });
    const recorder = new EventRecorder(breaker);
    const work = new ManualWork();
    void breaker.execute(work.run);
    await pass(100);

    await breaker.execute(() => 'quick');

    expect(recorder.types).toEqual(['circuit-open']);
  });
});

describe('a failure rate that rises because good calls leave the window', () => {
  it('opens nothing before a call has ended or become slow', async () => {
    const breaker = lagging({ minimumCalls: 2, slidingWindow: { type: 'time', size: 1_000 } });
    await breaker.execute(() => 1);
    await breaker.execute(() => 2);
    await breaker.execute(() => 3);
    await pass(500);
    for (let call = 0; call < 2; call++) await errorOf(breaker.execute(() => Promise.reject(outage)));
    await pass(500);

    expect(breaker.stats).toMatchObject({ total: 2, failureRate: 100 });
    expect(breaker.state).toBe('closed');
    await breaker.execute(() => 4);
    expect(breaker.state).toBe('open');
  });
});

describe('slow probes', () => {
  it('open the breaker again at slowCallRateThreshold', async () => {
    const breaker = lagging({ halfOpenMaxCalls: 2, slowCallRateThreshold: 50 });
    breaker.trip();
    await pass(1_000);

    await answerAfter(breaker, 100);

    expect(breaker.state).toBe('open');
  });

  it('that are still to come keep it open for a verdict, when they could open the breaker', async () => {
    const breaker = lagging({ halfOpenMaxCalls: 2, slowCallRateThreshold: 50, failureRateThreshold: 100 });
    breaker.trip();
    await pass(1_000);

    await answerAfter(breaker, 1);
    expect(breaker.state).toBe('half-open');
    await answerAfter(breaker, 100);
    expect(breaker.state).toBe('open');
  });

  it('that are quick enough close it', async () => {
    const breaker = lagging({ halfOpenMaxCalls: 2, slowCallRateThreshold: 100 });
    breaker.trip();
    await pass(1_000);

    await answerAfter(breaker, 99);

    expect(breaker.state).toBe('half-open');
    await answerAfter(breaker, 100);
    expect(breaker.state).toBe('closed');
  });
});

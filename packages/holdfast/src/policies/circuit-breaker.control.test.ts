import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { CircuitBreakerPolicy, CircuitOpenError, FallbackPolicy, ResiliencePolicy } from '../index.js';
import { EventRecorder } from '../testing/index.js';
import type { CircuitBreakerOptions } from './circuit-breaker-options.js';

useFakeClock();

const outage = new Error('outage');
const failing = (breaker: CircuitBreakerPolicy, source?: string): Promise<unknown> =>
  errorOf(breaker.execute(() => Promise.reject(outage), { source }));

describe('trip()', () => {
  it('opens the breaker for openDuration, not for ever', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000 });
    breaker.trip();
    expect(breaker.state).toBe('open');

    await pass(999);
    expect(await errorOf(breaker.execute(() => 1))).toMatchObject({ retryAfterMs: 1 });
    await pass(1);
    expect(await breaker.execute(() => 'probe')).toBe('probe');
    expect(breaker.state).toBe('closed');
  });

  it('restarts openDuration of an open breaker without a word', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000 });
    breaker.trip();
    const recorder = new EventRecorder(breaker);
    await pass(600);

    breaker.trip();

    expect(recorder.events).toEqual([]);
    await pass(999);
    expect(breaker.state).toBe('open');
    await pass(1);
    expect(breaker.state).toBe('half-open');
  });

  it('ends a half-open period, whose probe no longer decides', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000 });
    breaker.trip();
    await pass(1_000);
    const work = new ManualWork();
    const probe = breaker.execute(work.run);
    const recorder = new EventRecorder(breaker);

    breaker.trip();
    work.call(0).answer();
    await probe;

    expect(recorder.events).toEqual([
      { type: 'circuit-open', policy: 'circuit-breaker', from: 'half-open', to: 'open' },
    ]);
    expect(breaker.state).toBe('open');
  });

  it('keeps the window, so that stats still show it', async () => {
    const breaker = new CircuitBreakerPolicy();
    await failing(breaker);

    breaker.trip();

    expect(breaker.stats).toEqual({ total: 1, failures: 1, failureRate: 100 });
  });
});

describe('reset()', () => {
  it.each([
    ['open', 0],
    ['half-open', 1_000],
  ])('closes a breaker that is %s, with an empty window', async (state, wait) => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000, minimumCalls: 2 });
    await failing(breaker);
    await failing(breaker);
    await pass(wait);
    expect(breaker.state).toBe(state);
    const recorder = new EventRecorder(breaker);

    breaker.reset();

    expect(breaker.state).toBe('closed');
    expect(breaker.stats).toEqual({ total: 0, failures: 0, failureRate: 0 });
    expect(recorder.events).toEqual([{ type: 'circuit-closed', policy: 'circuit-breaker', from: state, to: 'closed' }]);
  });

  it('empties the window of a closed breaker without a word', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 2 });
    await failing(breaker);
    const recorder = new EventRecorder(breaker);

    breaker.reset();
    await failing(breaker);

    expect(recorder.events).toEqual([]);
    expect(breaker.stats.total).toBe(1);
    expect(breaker.state).toBe('closed');
  });
});

describe('what a breaker tells', () => {
  it('carries the source of the call that caused it, and none where there was no call', async () => {
    const breaker = new CircuitBreakerPolicy({ name: 'carrier', minimumCalls: 1, openDuration: 1_000 });
    const recorder = new EventRecorder(breaker);

    await failing(breaker, 'first');
    await errorOf(breaker.execute(() => 1, { source: 'refused' }));
    await errorOf(breaker.execute(() => 1));
    await pass(1_000);
    await breaker.execute(() => 1, { source: 'probe' });
    breaker.trip();
    await pass(1_000);
    expect(breaker.state).toBe('half-open');
    breaker.reset();

    const policy = 'carrier';
    expect(recorder.events).toStrictEqual([
      { type: 'circuit-open', policy, source: 'first', from: 'closed', to: 'open' },
      { type: 'circuit-rejected', policy, source: 'refused', retryAfterMs: 1_000 },
      { type: 'circuit-rejected', policy, source: undefined, retryAfterMs: 1_000 },
      { type: 'circuit-half-open', policy, source: 'probe', from: 'open', to: 'half-open' },
      { type: 'circuit-closed', policy, source: 'probe', from: 'half-open', to: 'closed' },
      { type: 'circuit-open', policy, from: 'closed', to: 'open' },
      { type: 'circuit-half-open', policy, from: 'open', to: 'half-open' },
      { type: 'circuit-closed', policy, from: 'half-open', to: 'closed' },
    ]);
  });

  it('is told by reading state, but not by reading stats', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000 });
    breaker.trip();
    await pass(1_000);
    const recorder = new EventRecorder(breaker);

    void breaker.stats;
    expect(recorder.types).toEqual([]);
    void breaker.state;
    void breaker.state;
    expect(recorder.types).toEqual(['circuit-half-open']);
  });

  it('may be answered by a reset() from within', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    breaker.subscribe((event) => event.type === 'circuit-open' && breaker.reset());

    expect(await failing(breaker)).toBe(outage);

    expect(breaker.state).toBe('closed');
    expect(await breaker.execute(() => 1)).toBe(1);
  });

  it('changes nothing when a listener throws, which is reported once', async () => {
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    breaker.subscribe(() => {
      throw new Error('listener');
    });

    expect(await failing(breaker)).toBe(outage);
    expect(await errorOf(breaker.execute(() => 1))).toBeInstanceOf(CircuitOpenError);

    expect(breaker.state).toBe('open');
    expect(report).toHaveBeenCalledTimes(1);
  });
});

describe('a listener of a refusal', () => {
  it('that makes the caller leave ends the call: nothing around the breaker answers it any more', async () => {
    const breaker = new CircuitBreakerPolicy();
    const handler = vi.fn(() => 'instead');
    const controller = new AbortController();
    breaker.trip();
    breaker.subscribe(() => controller.abort('left'));

    const call = outcomeOf(
      ResiliencePolicy.wrap(new FallbackPolicy(handler), breaker).execute(() => 1, { signal: controller.signal }),
    );
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: 'left' });
    expect(handler).not.toHaveBeenCalled();
  });
});

describe('an openDuration that grows', () => {
  /** How long the breaker stays open after each of so many failed half-open periods. */
  async function openTimes(options: CircuitBreakerOptions, periods: number): Promise<number[]> {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000, ...options });
    breaker.trip();
    const times: number[] = [];
    for (let period = 0; period < periods; period++) {
      const { retryAfterMs } = (await errorOf(breaker.execute(() => 1))) as CircuitOpenError;
      times.push(retryAfterMs);
      await pass(retryAfterMs - 1);
      expect(breaker.state).toBe('open');
      await pass(1);
      await failing(breaker);
    }

    return times;
  }

  it.each<[string, CircuitBreakerOptions, number[]]>([
    ['stays the same without openBackoff', {}, [1_000, 1_000, 1_000, 1_000]],
    ['doubles by default', { openBackoff: {} }, [1_000, 2_000, 4_000, 8_000]],
    ['grows by factor', { openBackoff: { factor: 3 } }, [1_000, 3_000, 9_000, 27_000]],
    ['stays the same at factor 1', { openBackoff: { factor: 1 } }, [1_000, 1_000, 1_000, 1_000]],
    ['ends at maxDuration', { openBackoff: { maxDuration: '3s' } }, [1_000, 2_000, 3_000, 3_000]],
    ['ends at 5 minutes by default', { openBackoff: { factor: 100 } }, [1_000, 100_000, 300_000, 300_000]],
    ['is never below openDuration', { openBackoff: { maxDuration: 10 } }, [1_000, 1_000, 1_000, 1_000]],
  ])('%s', async (_what, options, times) => {
    expect(await openTimes(options, 4)).toEqual(times);
  });

  it('is spread by jitter, but not the first time', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);

    expect(await openTimes({ openBackoff: { jitter: 'equal' } }, 3)).toEqual([1_000, 1_500, 3_000]);
    expect(await openTimes({ openBackoff: { jitter: 'full' } }, 3)).toEqual([1_000, 1_000, 2_000]);
  });

  it.each<[string, (breaker: CircuitBreakerPolicy) => Promise<void> | void]>([
    ['closing', async (breaker) => (await pass(2_000), void (await breaker.execute(() => 1)))],
    ['reset()', (breaker) => breaker.reset()],
    ['trip()', () => {}],
  ])('is back to openDuration after %s', async (_what, restart) => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000, openBackoff: {} });
    breaker.trip();
    await pass(1_000);
    await failing(breaker);
    expect(await errorOf(breaker.execute(() => 1))).toMatchObject({ retryAfterMs: 2_000 });

    await restart(breaker);
    breaker.trip();

    expect(await errorOf(breaker.execute(() => 1))).toMatchObject({ retryAfterMs: 1_000 });
  });
});

describe('two breakers of one frozen options object', () => {
  it('share nothing, and the object stays as it was', async () => {
    const options = Object.freeze({
      minimumCalls: 1,
      slidingWindow: Object.freeze({ type: 'time', size: '1s' } as const),
      openBackoff: Object.freeze({ factor: 3 }),
    });
    const before = structuredClone(options);
    const one = new CircuitBreakerPolicy(options);
    const other = new CircuitBreakerPolicy(options);

    await failing(one);

    expect(one.state).toBe('open');
    expect(other.state).toBe('closed');
    expect(other.stats.total).toBe(0);
    expect(options).toEqual(before);
  });

  it('do not follow when somebody changes the object afterwards', async () => {
    const options: { minimumCalls: number; slidingWindow: { type: 'count'; size: number } } = {
      minimumCalls: 2,
      slidingWindow: { type: 'count', size: 2 },
    };
    const breaker = new CircuitBreakerPolicy(options);
    options.minimumCalls = 1;
    options.slidingWindow.size = 1;

    await failing(breaker);

    expect(breaker.state).toBe('closed');
  });
});

describe('an idle breaker', () => {
  it('holds no timer in any state', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000, slowCallDuration: 10 });
    expect(vi.getTimerCount()).toBe(0);
    breaker.trip();
    expect(vi.getTimerCount()).toBe(0);
    await pass(1_000);
    const work = new ManualWork();
    const probe = outcomeOf(breaker.execute(work.run));
    expect(vi.getTimerCount()).toBe(0);
    work.call(0).answer();
    await microtasks();
    expect(probe.state).toBe('fulfilled');
  });
});

import { describe, expect, it } from 'vitest';
import { pass, START, useFakeClock } from '../../test/fake-clock.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { CircuitBreakerPolicy, CircuitOpenError } from '../index.js';
import { EventRecorder } from '../testing/index.js';
import type { CircuitBreakerOptions } from './circuit-breaker-options.js';

useFakeClock();

const outage = new Error('outage');

/** One call per character: `x` fails, `.` answers. */
async function play(breaker: CircuitBreakerPolicy, calls: string): Promise<void> {
  for (const call of calls) {
    const result = breaker.execute(() => (call === 'x' ? Promise.reject(outage) : 'fine'));
    if (call === 'x') expect(await errorOf(result)).toBe(outage);
    else expect(await result).toBe('fine');
  }
}

describe('a closed breaker', () => {
  it('passes values and errors through by identity', async () => {
    const breaker = new CircuitBreakerPolicy();
    const answer = { some: 'answer' };

    expect(await breaker.execute(() => answer)).toBe(answer);
    expect(await breaker.execute(async () => answer)).toBe(answer);
    expect(await errorOf(breaker.execute(() => Promise.reject(outage)))).toBe(outage);
    expect(
      await errorOf(
        breaker.execute(() => {
          throw outage;
        }),
      ),
    ).toBe(outage);
    expect(breaker.stats).toEqual({ total: 4, failures: 2, failureRate: 50 });
  });

  it.each<[string, CircuitBreakerOptions, string, string]>([
    ['by default with the tenth call, half of them failed', {}, 'xxxxx....', '.'],
    ['not by default with nine calls that all fail, but with the tenth', {}, 'xxxxxxxxx', 'x'],
    ['with the first failure of minimumCalls 1', { minimumCalls: 1 }, '', 'x'],
    ['at exactly the threshold', { minimumCalls: 4, failureRateThreshold: 75 }, 'xx.', 'x'],
    ['by a success that completes minimumCalls', { minimumCalls: 4 }, 'xxx', '.'],
    [
      'at 100 % when nothing but failures are left in the window',
      { failureRateThreshold: 100, minimumCalls: 3, slidingWindow: { type: 'count', size: 3 } },
      '.xx',
      'x',
    ],
    [
      'when a success leaves the count window',
      { minimumCalls: 5, slidingWindow: { type: 'count', size: 5 }, failureRateThreshold: 80 },
      '..xxx',
      'x',
    ],
    [
      'at a threshold of a fraction of a percent',
      { minimumCalls: 200, slidingWindow: { type: 'count', size: 200 }, failureRateThreshold: 0.5 },
      '.'.repeat(199),
      'x',
    ],
  ])('opens %s', async (_when, options, before, last) => {
    const breaker = new CircuitBreakerPolicy(options);

    await play(breaker, before);
    expect(breaker.state).toBe('closed');
    await play(breaker, last);
    expect(breaker.state).toBe('open');
  });

  it.each<[string, CircuitBreakerOptions, string]>([
    ['below the threshold', { minimumCalls: 4, failureRateThreshold: 51 }, '.x.x.x.x'],
    [
      'when old failures left the count window before the next came',
      { minimumCalls: 3, slidingWindow: { type: 'count', size: 3 } },
      'x..x..x..x',
    ],
    ['for a single failure at the start of its life', {}, 'x'],
  ])('stays closed %s', async (_when, options, calls) => {
    const breaker = new CircuitBreakerPolicy(options);

    await play(breaker, calls);

    expect(breaker.state).toBe('closed');
  });

  it('opens at every whole percentage that is reached exactly', async () => {
    for (let percent = 1; percent <= 100; percent++) {
      const breaker = new CircuitBreakerPolicy({
        failureRateThreshold: percent,
        minimumCalls: 100,
        slidingWindow: { type: 'count', size: 100 },
      });

      await play(breaker, '.'.repeat(100 - percent) + 'x'.repeat(percent));

      expect(breaker.state, `${percent} of 100 failed at a threshold of ${percent} %`).toBe('open');
    }
  });

  it('counts only the last calls of a count window', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 50, slidingWindow: { type: 'count', size: 50 } });

    await play(breaker, 'x'.repeat(20) + '.'.repeat(50));

    expect(breaker.stats).toEqual({ total: 50, failures: 0, failureRate: 0 });
  });

  it('tells of opening once, although fifty calls fail at the same moment', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 6, openDuration: 1_000 });
    const recorder = new EventRecorder(breaker);
    const calls = Array.from({ length: 50 }, () => outcomeOf(breaker.execute(() => Promise.reject(outage))));

    await microtasks();

    expect(calls.every((call) => call.value === outage)).toBe(true);
    expect(recorder.types).toEqual(['circuit-open']);
    expect(breaker.stats).toEqual({ total: 6, failures: 6, failureRate: 100 });

    await pass(999);
    expect(breaker.state).toBe('open');
    await pass(1);
    expect(breaker.state).toBe('half-open');
  });

  it('counts calls of every composition that it is part of', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 2 });
    const one = CircuitBreakerPolicy.wrap(breaker);
    const other = CircuitBreakerPolicy.wrap(breaker);

    await errorOf(one.execute(() => Promise.reject(outage)));
    await errorOf(other.execute(() => Promise.reject(outage)));

    expect(await errorOf(one.execute(() => 1))).toBeInstanceOf(CircuitOpenError);
    expect(await errorOf(other.execute(() => 1))).toBeInstanceOf(CircuitOpenError);
  });
});

describe('a breaker with a time window', () => {
  const timed = (options: CircuitBreakerOptions = {}): CircuitBreakerPolicy =>
    new CircuitBreakerPolicy({ slidingWindow: { type: 'time', size: 1_000 }, minimumCalls: 5, ...options });

  it('forgets a call when the start of its tenth of the window is a window old', async () => {
    const breaker = timed();
    await pass(950);
    await play(breaker, 'x');

    await pass(949);
    expect(Date.now()).toBe(START + 1_899);
    expect(breaker.stats.total).toBe(1);
    await pass(1);
    expect(breaker.stats.total).toBe(0);
  });

  it('keeps a call that stands at the start of its tenth for the whole window', async () => {
    const breaker = timed();
    await play(breaker, 'x');

    await pass(999);
    expect(breaker.stats.total).toBe(1);
    await pass(1);
    expect(breaker.stats.total).toBe(0);
  });

  it.each([
    ['an hour', 3_600_000],
    ['exactly one window', 5_000],
    ['one and a half windows', 7_500],
  ])('keeps nothing through a pause of %s', async (_pause, pause) => {
    const breaker = timed({ slidingWindow: { type: 'time', size: '5s' } });
    await play(breaker, 'xxxx');

    await pass(pause);
    await play(breaker, 'x');

    expect(breaker.state).toBe('closed');
    expect(breaker.stats).toEqual({ total: 1, failures: 1, failureRate: 100 });
  });

  it('loses old failures under steady traffic too', async () => {
    const breaker = timed({ minimumCalls: 2, failureRateThreshold: 60 });
    await play(breaker, 'x');

    for (let call = 0; call < 6; call++) {
      await pass(900);
      await play(breaker, '.');
      expect(breaker.stats).toMatchObject({ total: 2, failures: call === 0 ? 1 : 0 });
    }
  });

  it('holds more calls than any count window, with any minimumCalls', async () => {
    const breaker = timed({ minimumCalls: 500 });

    await play(breaker, 'x'.repeat(499));
    expect(breaker.state).toBe('closed');
    await play(breaker, 'x');
    expect(breaker.state).toBe('open');
  });

  it('opens when failures remain after the successes have left', async () => {
    const breaker = timed({ minimumCalls: 2, failureRateThreshold: 60 });
    await play(breaker, '..');
    await pass(500);
    await play(breaker, 'x');

    await pass(500);
    await play(breaker, 'x');

    expect(breaker.state).toBe('open');
  });
});

describe('a breaker that opens after failures in a row', () => {
  it('opens whatever minimumCalls and the failure rate say', async () => {
    const breaker = new CircuitBreakerPolicy({ consecutiveFailures: 3, failureRateThreshold: 100 });

    await play(breaker, '..xx');
    expect(breaker.state).toBe('closed');
    await play(breaker, 'x');
    expect(breaker.state).toBe('open');
  });

  it('begins to count again with every success', async () => {
    const breaker = new CircuitBreakerPolicy({ consecutiveFailures: 3, failureRateThreshold: 100 });

    await play(breaker, 'xx.xx.xx');

    expect(breaker.state).toBe('closed');
  });

  it('neither counts nor is interrupted by an error that is not recorded', async () => {
    const breaker = new CircuitBreakerPolicy({ consecutiveFailures: 2, failureRateThreshold: 100 });
    const clientError = Object.assign(new Error('not found'), { status: 404 });
    await play(breaker, 'x');
    await errorOf(breaker.execute(() => Promise.reject(clientError)));
    expect(breaker.state).toBe('closed');

    await play(breaker, 'x');

    expect(breaker.state).toBe('open');
  });

  it('does not count failures from before it was closed again', async () => {
    const breaker = new CircuitBreakerPolicy({ consecutiveFailures: 2 });
    await play(breaker, 'x');
    breaker.reset();

    await play(breaker, 'x');

    expect(breaker.state).toBe('closed');
  });
});

import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import { BulkheadFullError, CircuitBreakerPolicy, CircuitOpenError, type ResiliencePolicy } from '../index.js';
import type { CircuitBreakerOptions } from './circuit-breaker-options.js';

useFakeClock();

const outage = new Error('outage');
const notFound = Object.assign(new Error('not found'), { status: 404 });

/** A breaker that has just become half-open. */
async function halfOpen(options: CircuitBreakerOptions = {}): Promise<CircuitBreakerPolicy> {
  const breaker = new CircuitBreakerPolicy({ openDuration: 1_000, ...options });
  breaker.trip();
  await pass(breaker.options.openDuration);
  expect(breaker.state).toBe('half-open');

  return breaker;
}

/** Lets one probe per character through: `x` fails, `.` answers, `i` is ignored. */
async function probe(breaker: ResiliencePolicy, probes: string): Promise<void> {
  for (const kind of probes) {
    const work = (): unknown => (kind === '.' ? 1 : Promise.reject(kind === 'x' ? outage : notFound));
    expect(await breaker.execute(work).catch((error: unknown) => error)).not.toBeInstanceOf(CircuitOpenError);
  }
}

describe('an open breaker', () => {
  it('refuses at once, with the milliseconds that are left, and does not run the work', async () => {
    const breaker = new CircuitBreakerPolicy({ name: 'carrier', openDuration: '5s' });
    const work = new ManualWork();
    breaker.trip();
    await pass(2_000);

    const error = await errorOf(breaker.execute(work.run));

    expect(error).toBeInstanceOf(CircuitOpenError);
    expect(error).toMatchObject({
      code: 'CIRCUIT_OPEN',
      policy: 'carrier',
      retryAfterMs: 3_000,
      message: 'Circuit breaker "carrier" is open',
    });
    expect(work.calls).toEqual([]);
  });

  it('costs neither a timer nor a captured stack', async () => {
    const breaker = new CircuitBreakerPolicy();
    breaker.trip();
    const { signal } = new WatchedController();

    const error = (await errorOf(breaker.execute(() => 1, { signal }))) as Error;

    expect(error.stack ?? '').not.toContain('\n    at ');
  });

  it('shows what opened it', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 4, openDuration: 1_000 });
    await probe(breaker, '.xxx');
    expect(breaker.state).toBe('open');
    expect(breaker.stats).toEqual({ total: 4, failures: 3, failureRate: 75 });

    await pass(1_000);
    expect(breaker.state).toBe('half-open');
    expect(breaker.stats.total).toBe(4);
  });

  it('is half-open at exactly openDuration, for a reader as for a caller, without a timer', async () => {
    const read = new CircuitBreakerPolicy({ openDuration: 1_000 });
    const called = new CircuitBreakerPolicy({ openDuration: 1_000 });
    read.trip();
    called.trip();

    await pass(999);
    expect(read.state).toBe('open');
    expect(await errorOf(called.execute(() => 1))).toMatchObject({ retryAfterMs: 1 });
    await pass(1);
    expect(read.state).toBe('half-open');
    expect(await called.execute(() => 'probe')).toBe('probe');
    expect(called.state).toBe('closed');
  });

  it('tells of whole milliseconds, after which a probe is let through', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000.5 });
    breaker.trip();
    expect(await errorOf(breaker.execute(() => 1))).toMatchObject({ retryAfterMs: 1_001 });

    await pass(1_000);
    expect(await errorOf(breaker.execute(() => 1))).toMatchObject({ retryAfterMs: 1 });
    await pass(1);
    expect(await breaker.execute(() => 'probe')).toBe('probe');
  });

  it('is half-open at once when openDuration is 0', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 0, minimumCalls: 1 });
    await probe(breaker, 'x');

    expect(breaker.state).toBe('half-open');
    await probe(breaker, '.');
    expect(breaker.state).toBe('closed');
  });
});

describe('a half-open breaker', () => {
  it('closes with an empty window when its probe succeeds', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 2, openDuration: 1_000 });
    await probe(breaker, 'xx');
    await pass(1_000);

    await probe(breaker, '.');

    expect(breaker.state).toBe('closed');
    expect(breaker.stats).toEqual({ total: 0, failures: 0, failureRate: 0 });
    await probe(breaker, 'x');
    expect(breaker.state).toBe('closed');
  });

  it('opens for another full openDuration when its probe fails, time after time', async () => {
    const breaker = await halfOpen();
    for (let period = 0; period < 5; period++) {
      await probe(breaker, 'x');
      expect(await errorOf(breaker.execute(() => 1))).toMatchObject({ retryAfterMs: 1_000 });
      await pass(999);
      expect(breaker.state).toBe('open');
      await pass(1);
      expect(breaker.state).toBe('half-open');
    }
  });

  it('decides by its probe although minimumCalls is larger, and closes later', async () => {
    const breaker = await halfOpen({ minimumCalls: 10 });
    await probe(breaker, 'x');
    expect(breaker.state).toBe('open');

    await pass(1_000);
    await probe(breaker, '.');

    expect(breaker.state).toBe('closed');
  });

  it.each([1, 3])('lets exactly %d of a thousand simultaneous callers through', async (halfOpenMaxCalls) => {
    const breaker = await halfOpen({ halfOpenMaxCalls });
    const work = new ManualWork();

    const calls = Array.from({ length: 1_000 }, () => outcomeOf(breaker.execute(work.run)));
    await microtasks();

    expect(work.calls).toHaveLength(halfOpenMaxCalls);
    const refused = calls.filter((call) => call.value instanceof CircuitOpenError);
    expect(refused).toHaveLength(1_000 - halfOpenMaxCalls);
    expect(refused.every((call) => (call.value as CircuitOpenError).retryAfterMs === 0)).toBe(true);

    for (const call of work.calls) call.answer();
    await microtasks();
    expect(breaker.state).toBe('closed');
  });

  it('gives the place of a probe that has finished to nobody', async () => {
    const breaker = await halfOpen({ halfOpenMaxCalls: 2 });
    const work = new ManualWork();
    const hanging = breaker.execute(work.run);
    await probe(breaker, '.');

    expect(await errorOf(breaker.execute(() => 1))).toBeInstanceOf(CircuitOpenError);

    work.call(0).answer();
    await hanging;
    expect(breaker.state).toBe('closed');
  });

  it('rejects a caller behind a hanging probe at once, with its place in the error and not parked', async () => {
    const breaker = await halfOpen();
    const work = new ManualWork();
    const hanging = breaker.execute(work.run);
    const controller = new WatchedController();

    const second = outcomeOf(breaker.execute(work.run, { signal: controller.signal }));
    await microtasks();

    expect(second.value).toBeInstanceOf(CircuitOpenError);
    expect(second.value).toMatchObject({ retryAfterMs: 0 });
    expect(controller.listeners).toBe(0);
    work.call(0).answer();
    await hanging;
  });
});

describe('the verdict of a half-open period', () => {
  it.each([
    ['closes after a failure at first', 3, 50, 'x..', 'closed'],
    ['opens at exactly the threshold', 2, 50, '.x', 'open'],
    ['closes below the threshold', 4, 50, 'x...', 'closed'],
    ['opens for one failure of a hundred at a threshold of one percent', 100, 1, 'x', 'open'],
    ['closes at a threshold of 100 with the first success', 5, 100, 'xx.', 'closed'],
  ] as const)('%s', async (_what, halfOpenMaxCalls, failureRateThreshold, probes, state) => {
    const breaker = await halfOpen({ halfOpenMaxCalls, failureRateThreshold });
    await probe(breaker, probes.slice(0, -1));
    expect(breaker.state).toBe('half-open');

    await probe(breaker, probes.slice(-1));

    expect(breaker.state).toBe(state);
  });

  it.each([
    ['xx.......', 'x', 'open'],
    ['xx', 'x', 'open'],
    ['.......', '.', 'closed'],
    ['x.......', '.', 'closed'],
    ['xx.......', '.', 'closed'],
  ])('of ten probes at 30 %% is open until %s and certain with %s: %s', async (before, last, state) => {
    const breaker = await halfOpen({ halfOpenMaxCalls: 10, failureRateThreshold: 30 });

    await probe(breaker, before);
    expect(breaker.state).toBe('half-open');
    await probe(breaker, last);

    expect(breaker.state).toBe(state);
  });

  it('is reached at every whole percentage that the failed probes make up exactly', async () => {
    for (let percent = 1; percent <= 100; percent++) {
      const breaker = await halfOpen({ halfOpenMaxCalls: 100, failureRateThreshold: percent });

      await probe(breaker, 'x'.repeat(percent - 1));
      expect(breaker.state, `${percent - 1} failed`).toBe('half-open');
      await probe(breaker, 'x');
      expect(breaker.state, `${percent} failed`).toBe('open');
    }
  });

  it('drops what the remaining probes bring when it came early', async () => {
    const breaker = await halfOpen({ halfOpenMaxCalls: 3, failureRateThreshold: 30, minimumCalls: 1 });
    const work = new ManualWork();
    const late = [breaker.execute(work.run), breaker.execute(work.run)];
    await probe(breaker, 'x');
    expect(breaker.state).toBe('open');

    work.call(0).answer();
    work.call(1).fail(outage);
    await Promise.allSettled(late);

    expect(breaker.state).toBe('open');
    await pass(1_000);
    expect(breaker.state).toBe('half-open');
  });
});

describe('a probe that says nothing about the dependency', () => {
  it.each<[string, unknown]>([
    ['a client error', notFound],
    ['a refusal from further inside', new BulkheadFullError('inner', 'full')],
  ])('frees its place and changes nothing: %s', async (_what, error) => {
    const breaker = await halfOpen();

    for (let time = 0; time < 3; time++) {
      expect(await errorOf(breaker.execute(() => Promise.reject(error)))).toBe(error);
      expect(breaker.state).toBe('half-open');
    }

    await probe(breaker, '.');
    expect(breaker.state).toBe('closed');
  });

  it('frees its place when its caller leaves', async () => {
    const breaker = await halfOpen();
    const work = new ManualWork();
    const controller = new WatchedController();
    const cancelled = outcomeOf(breaker.execute(work.run, { signal: controller.signal }));
    controller.abort('left');
    await microtasks();
    expect(cancelled.value).toBe('left');
    expect(controller.listeners).toBe(0);
    expect(breaker.state).toBe('half-open');

    const next = breaker.execute(work.run);
    work.call(0).fail(outage);
    await microtasks();
    expect(breaker.state).toBe('half-open');

    work.call(1).answer();
    await next;
    expect(breaker.state).toBe('closed');
  });

  it('does not count among the others', async () => {
    const breaker = await halfOpen({ halfOpenMaxCalls: 2 });

    await probe(breaker, '.ii');
    expect(breaker.state).toBe('half-open');
    await probe(breaker, 'x');

    expect(breaker.state).toBe('open');
  });
});

describe('a listener of the half-open event', () => {
  it('that aborts the very call leaves its work unrun and the probe free', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000 });
    breaker.trip();
    await pass(1_000);
    const controller = new WatchedController();
    const work = new ManualWork();
    breaker.subscribe((event) => event.type === 'circuit-half-open' && controller.abort('stop'));

    const call = outcomeOf(breaker.execute(work.run, { signal: controller.signal }));
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: 'stop' });
    expect(work.calls).toEqual([]);
    expect(controller.listeners).toBe(0);
    expect(await breaker.execute(() => 'probe')).toBe('probe');
  });

  it('that trips the breaker again has the call refused', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 1_000 });
    breaker.trip();
    await pass(1_000);
    breaker.subscribe((event) => event.type === 'circuit-half-open' && breaker.trip());

    expect(await errorOf(breaker.execute(() => 1))).toMatchObject({ code: 'CIRCUIT_OPEN', retryAfterMs: 1_000 });
  });
});

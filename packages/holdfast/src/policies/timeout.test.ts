import { describe, expect, it, vi } from 'vitest';
import { pass, START, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { microtasks, outcomeOf } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import { ResilienceTimeoutError } from '../errors.js';
import { EventRecorder, ScriptedDownstream } from '../testing/index.js';
import { CircuitBreakerPolicy } from './circuit-breaker.js';
import { FallbackPolicy } from './fallback.js';
import { ResiliencePolicy } from '../policy.js';
import { TimeoutPolicy, type TimeoutOptions } from './timeout.js';

const reason = new Error('the caller left');

useFakeClock();

describe('a limit that is asked for before each attempt', () => {
  it('may not be a promise', async () => {
    const policy = new TimeoutPolicy((() => Promise.resolve(5)) as never);

    await expect(policy.execute(() => 1)).rejects.toThrow(
      'timeout returned a Promise. Return a duration from it, without waiting.',
    );
  });

  it('ends a call whose caller leaves while it is asked for, though it throws then', async () => {
    const controller = new AbortController();
    const handler = vi.fn(() => 'instead');
    const policy = new TimeoutPolicy(() => {
      controller.abort(reason);
      throw new Error('no limit');
    });
    const around = ResiliencePolicy.wrap(new FallbackPolicy(handler, { handleIf: () => true }), policy);
    const call = outcomeOf(around.execute(() => 1, { signal: controller.signal }));
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: reason });
    expect(handler).not.toHaveBeenCalled();
  });
});

describe('a limit', () => {
  it('leaves work alone that takes less', async () => {
    const downstream = new ScriptedDownstream([{ answer: 'in time', after: 99 }]);
    const call = outcomeOf(new TimeoutPolicy(100).execute(downstream.call));
    await pass(99);

    expect(call).toEqual({ state: 'fulfilled', value: 'in time' });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends an attempt exactly when it is over', async () => {
    const call = outcomeOf(new TimeoutPolicy(100).execute(() => new Promise(() => {})));
    await pass(99);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.state).toBe('rejected');
    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
  });

  it('ends an attempt with an error that says what it was', async () => {
    const policy = new TimeoutPolicy({ timeout: '1.5s', name: 'quotes' });
    const call = outcomeOf(policy.execute(() => new Promise(() => {})));
    await pass(1_500);

    expect(call.value).toMatchObject({
      name: 'ResilienceTimeoutError',
      code: 'TIMEOUT',
      message: 'Timed out after 1500ms',
      timeoutMs: 1_500,
      policy: 'quotes',
    });
  });

  it('is published, then aborts the signal, then rejects, all with one error', async () => {
    const policy = new TimeoutPolicy({ timeout: 100, name: 'quotes' });
    const order: unknown[] = [];
    let signal: AbortSignal | undefined;
    policy.subscribe((event) => order.push(event, signal?.aborted));
    const call = policy.execute(
      (context) =>
        new Promise(() => {
          signal = context.signal;
          context.signal.addEventListener('abort', () => order.push(context.signal.reason));
        }),
      { source: 'Job.run' },
    );
    const rejected = call.catch((error: unknown) => void order.push(error));
    await pass(100);
    await rejected;

    const error = order.at(-1);
    expect(error).toBeInstanceOf(ResilienceTimeoutError);
    expect(order.slice(0, 2)).toEqual([
      { type: 'timeout', policy: 'quotes', source: 'Job.run', timeoutMs: 100 },
      false,
    ]);
    expect(order).toHaveLength(4);
    expect(order[2]).toBe(error);
  });

  it('of a fraction of a millisecond is rounded up by the timer, and reported as it was given', async () => {
    const call = outcomeOf(new TimeoutPolicy(99.5).execute(() => new Promise(() => {})));
    await pass(99);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ timeoutMs: 99.5 });
  });

  it.each([
    ['30d', 2_592_000_000],
    [2 ** 31 - 1, 2 ** 31 - 1],
    [2 ** 31, 2 ** 31],
    [2 ** 32 + 5, 2 ** 32 + 5],
  ] as const)('of %s neither fires at once nor late', async (timeout, milliseconds) => {
    const call = outcomeOf(new TimeoutPolicy(timeout).execute(() => new Promise(() => {})));
    await pass(milliseconds - 1);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ code: 'TIMEOUT', timeoutMs: milliseconds });
  });

  it('that no timer of the platform can hold is stopped like any other', async () => {
    await new TimeoutPolicy('365d').execute(() => 'answer');
    const work = new ManualWork();
    const call = outcomeOf(new TimeoutPolicy('365d').execute(work.run));
    await pass(2 ** 31 + 1_000);
    expect(vi.getTimerCount()).toBe(1);
    work.call(0).answer('late, but in time');
    await microtasks();

    expect(call.value).toBe('late, but in time');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is never late on a clock that is moved by hand', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const policy = ResiliencePolicy.wrap(breaker, new TimeoutPolicy(100));
    const call = outcomeOf(policy.execute(() => new Promise(() => {})));
    vi.setSystemTime(START + 3_600_000);
    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.stats.failures).toBe(1);
  });
});

describe('the timer of a limit is gone', () => {
  it.each([
    ['after a success', () => Promise.resolve('answer')],
    ['after a success at once', () => 'answer'],
    ['after a failure', () => Promise.reject(new Error('down'))],
    [
      'after a failure at once',
      () => {
        throw new Error('down');
      },
    ],
  ])('%s', async (_when, work) => {
    outcomeOf(new TimeoutPolicy(100).execute<unknown>(work));
    await microtasks();

    expect(vi.getTimerCount()).toBe(0);
  });

  it('after an abort of the caller, whether the work heeds it or not', async () => {
    const controller = new WatchedController();
    const heeding = new ScriptedDownstream([{ hang: true }]);
    const deaf = new ScriptedDownstream([{ hang: true }], { honoursSignal: false });
    const policy = new TimeoutPolicy(100);
    const calls = [heeding, deaf].map(({ call }) => outcomeOf(policy.execute(call, { signal: controller.signal })));
    expect(vi.getTimerCount()).toBe(2);
    controller.abort(reason);
    await microtasks();

    expect(vi.getTimerCount()).toBe(0);
    expect(calls.map(({ value }) => value)).toEqual([reason, reason]);
    expect(heeding.calls[0]).toMatchObject({ state: 'cancelled', reason });
  });
});

describe('work that was given up', () => {
  it.each(['answer', 'fail'] as const)('may still %s, which nobody hears', async (end) => {
    const work = new ManualWork();
    const policy = new TimeoutPolicy(100);
    const recorder = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(work.run));
    await pass(100);
    const { value } = call;
    work.call(0)[end](new Error('too late'));
    await microtasks();

    expect(call.value).toBe(value);
    expect(recorder.types).toEqual(['timeout']);
  });

  it('finds its signal aborted, also when it asks for it only then', async () => {
    const work = new ManualWork();
    const call = outcomeOf(new TimeoutPolicy(100).execute(work.run));
    await pass(100);
    const { signal } = work.call(0).context;

    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBe(call.value);
    expect(work.call(0).context.signal).toBe(signal);
  });

  it('finds it aborted also when it asks for it only after it has ended', async () => {
    const work = new ManualWork();
    const call = outcomeOf(new TimeoutPolicy(100).execute(work.run));
    await pass(100);
    work.call(0).answer();
    await microtasks();

    expect(work.call(0).context.signal.reason).toBe(call.value);
  });
});

describe('two calls of one policy', () => {
  it('do not share a signal: one times out, the other finishes, the next one starts afresh', async () => {
    const policy = new TimeoutPolicy(100);
    const work = new ManualWork();
    const first = outcomeOf(policy.execute(work.run));
    await pass(50);
    const second = outcomeOf(policy.execute(work.run));
    await pass(50);
    expect([first.state, second.state]).toEqual(['rejected', 'pending']);
    expect(work.calls.map(({ context }) => context.signal.aborted)).toEqual([true, false]);

    work.call(1).answer('in time');
    await microtasks();
    const third = outcomeOf(policy.execute(work.run));
    expect(second.value).toBe('in time');
    expect(work.call(2).context.signal.aborted).toBe(false);

    work.call(2).answer('as well');
    await microtasks();
    expect(third.value).toBe('as well');
  });
});

describe('the options of a limit', () => {
  it.each([
    [250, 250],
    ['1.5s', 1_500],
    [{ timeout: '2m' }, 120_000],
    [0.5, 0.5],
  ] as const)('%j is %d ms', (options, milliseconds) => {
    expect(new TimeoutPolicy(options).timeout).toBe(milliseconds);
  });

  it('name it, and its name is `timeout` by default', () => {
    expect(new TimeoutPolicy(5).name).toBe('timeout');
    expect(new TimeoutPolicy({ timeout: 5 }).name).toBe('timeout');
    expect(new TimeoutPolicy({ timeout: 5, name: 'quotes' }).name).toBe('quotes');
  });

  it.each([
    [0, /^Invalid duration 0: .*greater than 0/],
    ['0ms', /^Invalid duration "0ms": .*greater than 0/],
    [-1, /^Invalid duration -1/],
    [NaN, /^Invalid duration NaN/],
    [Infinity, /^Invalid duration Infinity/],
    ['5', /^Invalid duration "5"/],
    [undefined, /^Invalid duration undefined/],
    [true, /^Invalid duration true/],
    [{}, /^Invalid duration undefined/],
    [{ timeout: null }, /^Invalid duration null/],
    [{ timeout: '1 s' }, /^Invalid duration "1 s"/],
    [{ timeout: 5, name: '' }, /^name: expected a name/],
    [{ timeout: 5, name: null }, /^name: expected a name/],
    [{ timeoutMs: 5 }, /^timeoutMs: unknown option\. Did you mean "timeout"\?/],
    [{ timeout: { record: () => {} } }, /^Invalid duration an object/],
    [{ timeout: { recordCut: () => {} } }, /^Invalid duration an object/],
    [null, /expected an options object, got null/],
    [[5], /expected an options object, got an array/],
  ])('%j are refused', (options, message) => {
    expect(() => new TimeoutPolicy(options as TimeoutOptions)).toThrow(TypeError);
    expect(() => new TimeoutPolicy(options as TimeoutOptions)).toThrow(message);
  });

  it('are read once and not written to', async () => {
    const options = { timeout: 100, name: 'quotes' };
    const frozen = new TimeoutPolicy(Object.freeze({ ...options }));
    const policy = new TimeoutPolicy(options);
    options.timeout = 5_000;
    const call = outcomeOf(policy.execute(() => new Promise(() => {})));
    await pass(100);

    expect([frozen.timeout, policy.timeout]).toEqual([100, 100]);
    expect(call.state).toBe('rejected');
  });
});
